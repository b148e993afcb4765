// Package fair shares the API server out between spaces. A request takes a seat while it is
// answered; when all seats are taken it waits in the line of its space, and the lines are served in
// turn, one request each. So a space that floods waits behind itself, and another one waits for one
// seat at most. No space may hold more than half of the seats, so that slow requests of one leave
// room for the others.
//
//	leave, err := seats.Take(ctx, space) // waits; ErrFull where the line of the space is full
//	defer leave()
//
// It knows nothing of HTTP.
package fair
