"""Which named quantities of the data differ from the model's."""
