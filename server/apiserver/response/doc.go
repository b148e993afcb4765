// Package response writes answers of the API server that no upstream handler writes: a Status, or a
// body with an ETag. It also asks a handler in a request's name, so that several answers become
// one.
//
//	a := response.Ask(handler, r, "/apis", "application/json") // a GET with r's context and user
//	if a.Code != http.StatusOK {
//		a.Replay(w) // as it is
//		return
//	}
//	response.WriteJSON(w, r, "application/json", merge(a.Body, more))
package response
