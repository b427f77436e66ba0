"""What tests return."""
