#define BOOST_TEST_MODULE swarm
#include <boost/test/unit_test.hpp>
