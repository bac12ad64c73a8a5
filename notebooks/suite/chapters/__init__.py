"""One module and one figures module per notebook, named as it is."""
