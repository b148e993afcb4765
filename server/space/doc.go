// Package space is the life of a space: Controller turns Space objects into the Set that the API's front asks at every request, gives each
// space the namespaces that every cluster has, writes its status, and deletes it; Namespaces empties deleted namespaces in all
// spaces. Each works across all spaces at once, so that an empty space costs nothing here either. It talks to the API by the
// center's loopback and knows nothing of its inside. Package server wires it.
package space
