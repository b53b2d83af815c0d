"""Tables and their public description: domain, columns, schema, reading, drafting, writing, distributions."""
