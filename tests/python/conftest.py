"""What all tests here stand on."""

import signal

# Whoever starts the tests in the background may have left Ctrl-C ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
