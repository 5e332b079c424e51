package timesync

import "time"

// Sample is one question to another machine for its time.
type Sample struct {
	Sent     time.Time // by the local clock, before the question left
	Received time.Time // by the local clock, after the answer came
	Remote   time.Time // by the other clock, as the answer says
}

// Estimate is what samples say about another clock at one moment.
type Estimate struct {
	At     time.Time     // the moment, by the local clock
	Offset time.Duration // the other clock less the local one, then
	Bound  time.Duration // the offset is wrong by this much at most
}

// resolution is how exactly another machine tells its time: Redis' TIME and our
// own answers count whole microseconds. What rounding here costs is less.
const resolution = time.Microsecond

// Best estimates another clock from several samples: the one with the shortest
// round trip, the latest of equals. Nothing is averaged, since a sample that was
// delayed says less and never more. The other clock is taken to have been read
// in the middle of the round trip, which is wrong by half of it at most, however
// the two ways compare (F. Cristian, Probabilistic clock synchronization,
// Distributed Computing 3, 1989, pages 146 to 158).
//
// Samples whose answer came before the question are left out: the local clock
// was set in between. It reports false if none is left.
func Best(samples []Sample) (Estimate, bool) {
	best, found := Sample{}, false
	for _, s := range samples {
		if s.trip() < 0 || found && s.trip() > best.trip() {
			continue
		}
		best, found = s, true
	}
	if !found {
		return Estimate{}, false
	}
	return best.estimate(), true
}

func (s Sample) trip() time.Duration { return s.Received.Sub(s.Sent) }

func (s Sample) estimate() Estimate {
	half := s.trip() / 2
	return Estimate{
		At:     s.Received,
		Offset: s.Remote.Add(half).Sub(s.Received.Round(0)),
		Bound:  half + resolution,
	}
}
