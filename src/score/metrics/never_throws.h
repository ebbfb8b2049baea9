// Boost.Math's policy here: doubles, with NaN or infinity where a function has no value.
#pragma once

#include <boost/math/policies/policy.hpp>

namespace kw::score {

namespace policies = boost::math::policies;
using NeverThrows =
    policies::policy<policies::domain_error<policies::ignore_error>,
                     policies::overflow_error<policies::ignore_error>,
                     policies::pole_error<policies::ignore_error>,
                     policies::evaluation_error<policies::ignore_error>, policies::promote_double<false>>;

}  // namespace kw::score
