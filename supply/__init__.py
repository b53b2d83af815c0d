"""What Equipoise is built from, and what is built from it: pins, licences, known weaknesses, parts, signed packages."""
