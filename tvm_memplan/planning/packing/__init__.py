"""One buffer after the other into a free gap: orders to take them in, the kernel, and a search for better orders."""
