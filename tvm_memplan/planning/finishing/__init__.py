"""What is done to a finished plan: less penalty, outputs onto their inputs, an arena cut into pieces."""
