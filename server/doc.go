// Package server is center mode: a kube API of many spaces, the placement of their objects on
// sites, and the sessions of the sites' agents. It opens, wires, starts and stops the parts, which
// are the packages below it, and decides nothing about objects.
//
//	s, err := server.New(cfg)  // opens data and ports
//	err = s.Run(ctx)           // serves until ctx ends or a part fails, and closes the data
//
// The start:
//
//  1. The port is served and the kube API answers in root. The spaces become known.
//  2. Of several replicas, one leads (lead.go). The others serve the API and stand by.
//  3. One watch over the store gives every write to each part that follows writes (fanOut).
//  4. When all that is stored has been read and placed, the stored reports are read again. Then
//     delivery and summary run, and agents are let in.
//
// README.md has the two flows: an apply becomes a desired feed, a report becomes a status.
package server
