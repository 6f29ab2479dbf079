"""How PyTorch's threads wait for each other: import this before torch.

They spin for some microseconds and then sleep. Threads that only sleep are waked too late between the short matrix
products of training; threads that only spin slow it down many times when something else runs on the machine.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "3000")
