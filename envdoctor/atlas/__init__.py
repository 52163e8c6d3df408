"""What every release of the field's packages contains, takes from others and says: computed from the releases themselves."""
