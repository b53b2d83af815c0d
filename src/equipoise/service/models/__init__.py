"""What goes over the wire: requests checked strictly, replies with examples. A file for each of `routes/`."""
