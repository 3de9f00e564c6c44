#include "routing/membership/job_times.h"

#include <boost/test/unit_test.hpp>

using namespace swarm::routing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(JobTimesTest)

BOOST_AUTO_TEST_CASE(a_job_runs_from_when_the_one_before_is_done) {
  JobTimes jobs;
  jobs.begun(1, 10s);
  jobs.begun(2, 11s);
  BOOST_TEST((jobs.report(14s).job == Time(4s)));
  jobs.done(1, 14s);
  const auto report = jobs.report(16s);
  BOOST_TEST((report.job == Time(2s)));
  BOOST_TEST((report.usual == Time(30s)));  // until more are done
  BOOST_TEST((report.since_job == Time(2s)));
  BOOST_TEST((jobs.longest_wait(16s) == Time(5s)));
  jobs.done(2, 16s);
  BOOST_TEST((jobs.report(99s).job == Time(0)));
}

BOOST_AUTO_TEST_CASE(a_device_without_work_does_not_hang) {
  JobTimes jobs;
  BOOST_TEST(!jobs.report(9h).hangs());
  jobs.begun(1, 0s);
  jobs.done(1, 1s);
  BOOST_TEST(!jobs.report(9h).hangs());
}

BOOST_AUTO_TEST_CASE(a_first_pass_may_take_minutes) {
  JobTimes jobs;
  jobs.begun(1, 0s);
  BOOST_TEST(!jobs.report(10min).hangs());
  BOOST_TEST(jobs.report(11min).hangs());
}

BOOST_AUTO_TEST_CASE(no_job_of_less_than_a_minute_hangs) {
  JobTimes jobs;
  for (uint64_t pass = 2; pass < 10; ++pass) {
    jobs.begun(pass, 0s);
    jobs.done(pass, 0s);
  }
  jobs.begun(10, 0s);
  BOOST_TEST(!jobs.report(60s).hangs());
  BOOST_TEST(jobs.report(61s).hangs());
}

BOOST_AUTO_TEST_CASE(long_jobs_have_longer_even_after_many_short_ones) {
  JobTimes jobs;
  jobs.begun(1, 0s);
  jobs.done(1, 10s);  // an update
  for (uint64_t pass = 2; pass < 40; ++pass) {
    jobs.begun(pass, 10s);
    jobs.done(pass, 10s);
  }
  jobs.begun(99, 10s);
  BOOST_TEST(!jobs.report(110s).hangs());
  BOOST_TEST(jobs.report(300s).hangs());
}

BOOST_AUTO_TEST_SUITE_END()
