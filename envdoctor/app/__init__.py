"""What envdoctor does with a request: one way from targets to a report. Nothing here knows a command line or prints."""
