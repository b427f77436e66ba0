"""What is made of draws: fewer of them, or weights for them."""
