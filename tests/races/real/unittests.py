#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""unittests.py MODULE TEST...: some of a module's tests; fails if there is none of a name."""
import sys
import unittest

module = sys.argv[1]
tests = unittest.defaultTestLoader.loadTestsFromNames(["%s.%s" % (module, name)
                                                       for name in sys.argv[2:]])
result = unittest.TextTestRunner(verbosity=0).run(tests)
sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
