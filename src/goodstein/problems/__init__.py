"""What is asked: data, model, domain, operator and kernel put together, one question or several."""
