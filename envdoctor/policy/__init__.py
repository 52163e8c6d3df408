"""What a team lives with: settings of the project, findings that are excused, and for how long."""
