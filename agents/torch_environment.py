"""What PyTorch is told by the environment: import this before torch. What is set there already stays.

How its threads wait for each other: they spin for some microseconds and then sleep. Threads that only sleep are waked
too late between the short matrix products of training; threads that only spin slow it down many times when something
else runs on the machine.

How many kinds of matrix product oneDNN keeps ready, each for matrices of one size: training against others has batches
of another size each time, so that 1,024, its own default, come to hundreds of MB within minutes and are hardly used
again.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "3000")
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")
