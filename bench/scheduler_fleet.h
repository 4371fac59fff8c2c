// The scheduler alone under a fleet, in simulated time.
#pragma once

namespace locus::bench {

// A quarter of an hour of a fleet whose stages take 10 to 30 minutes: heartbeats, completions, one worker of a hundred that
// falls silent for longer than its grace: of one account, of a hundred that share the workers, some of them urgent, some
// scavenging; then with stages that run alone and trainings over several slots, which slots are kept for; then where half
// of the slots wait for work. Prints a JSON object a line: microseconds of each kind of step, memory.
void measure_fleet(int workers, int slots, int stages);

}  // namespace locus::bench
