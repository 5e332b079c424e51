package store

import (
	"context"

	"rushgate/backend/order"
)

// mysqlRaiseQuota is upsertQuota without its WHERE, which MySQL's upsert does not
// have: rows that are missing are made, holding nothing, and then all are raised
// by a guarded update whose matches are counted. (An upsert's own count can't be
// compared: a row counts one where it was made, two where it was changed, and one
// again where it was left alone.) The first statement locks the rows of both, in
// the order of the takes, so that two groups never wait for each other.
func mysqlRaiseQuota(ctx context.Context, q session, item string, perUser int64, takes []order.Take) error {
	args := make([]any, 0, 2*len(takes))
	for _, t := range takes {
		args = append(args, item, t.User)
	}
	_, err := q.exec(ctx, "INSERT INTO user_quota (item, user_id, bought) VALUES "+tuples(len(takes), "(?,?,0)")+
		" ON DUPLICATE KEY UPDATE bought = bought", args...)
	if err != nil {
		return err
	}
	users := make(map[int64][]any)
	for _, t := range takes {
		users[t.Qty] = append(users[t.Qty], t.User)
	}
	for qty, who := range users { // mostly one: most buyers take one unit
		args := append([]any{qty, item}, who...)
		args = append(args, qty, perUser)
		err := q.exactly(ctx, int64(len(who)), "UPDATE user_quota SET bought = bought + ? WHERE item = ? AND user_id IN ("+tuples(len(who), "?")+
			") AND bought + ? <= ?", args...)
		if err != nil {
			return err
		}
	}
	return nil
}
