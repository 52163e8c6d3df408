"""What is known of the world outside: releases and what they require, architectures, GPUs, drivers, platforms."""
