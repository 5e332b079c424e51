package timesync

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Timer is what AskRedis needs of a client of Redis.
type Timer interface {
	Time(ctx context.Context) *redis.TimeCmd
}

// AskRedis returns what FollowOptions need to follow the clock of Redis. It is the
// clock that scripts read: both call TIME, which reads the machine's clock anew each
// time, not the one that Redis keeps for the turn of its event loop.
func AskRedis(client Timer) func(context.Context) (time.Time, error) {
	return func(ctx context.Context) (time.Time, error) {
		now, err := client.Time(ctx).Result()
		if err != nil {
			return time.Time{}, fmt.Errorf("ask Redis for the time: %w", err)
		}
		return now, nil
	}
}
