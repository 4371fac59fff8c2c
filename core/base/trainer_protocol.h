// What a worker daemon and its trainer must agree on word for word (docs/formats/trainer.md); each includes this and
// neither the other.
#pragma once

namespace locus {

inline constexpr int kTrainerProtocolVersion = 2;  // told in the hello frame; another one is refused

// The values of a wish frame.
inline constexpr char kWishCancel[] = "cancel";                          // end, the outcome is of no interest
inline constexpr char kWishCheckpointAndStop[] = "checkpoint-and-stop";  // save, then end as stopped

// The type of the frame that moves an attempt's stop point, and the outcome of one that ended there.
inline constexpr char kFrameUntil[] = "until";
inline constexpr char kOutcomeParked[] = "parked";

}  // namespace locus
