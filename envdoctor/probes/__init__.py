"""Small experiments that show a fault, run in the patient's interpreter."""
