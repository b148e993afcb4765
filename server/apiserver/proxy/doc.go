// Package proxy serves pods/proxy and services/proxy: HTTP requests to ports of Pods, where they run.
//
// Life of a request for services/https:web:admin/proxy/metrics:
//
//  1. [Services] takes the name apart, reads the Service in the space of the request, and asks for
//     the ready Pods behind it. [Pods] reads a Pod.
//  2. One Pod after the other is connected to: a stream to its site, whose agent connects to the
//     port of that very Pod. What a site allows of port-forward, it allows of this.
//  3. The request goes on without credentials and cookies. The answer comes back without cookies,
//     and a browser runs nothing of it with the rights of this origin, which all spaces share.
//
// No address and no host name of the request is ever dialed, and redirects go to the client.
package proxy
