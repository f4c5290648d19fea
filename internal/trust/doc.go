// Package trust says whom the program trusts: this machine, and who knows the password.
//
// What is sent to this machine crosses no network, so it needs no encryption; and a web page of somebody else cannot
// have such a name. What a stranger gives as user and password is compared in a time that says nothing about either.
package trust
