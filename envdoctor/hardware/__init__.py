"""What is known of GPUs, of the CUDA code inside torch's wheels, and of drivers: data with its sources."""
