package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	envPrefix = "DEALHOUSE_"

	// envFile names the configuration file when --config does not.
	envFile = "DEALHOUSE_CONFIG"

	// envAccount, envBaseURL and envAPIKey configure one account when no file has any.
	envAccount  = "DEALHOUSE_ACCOUNT"
	envBaseURL  = "DEALHOUSE_BASE_URL"
	envReceiver = "DEALHOUSE_RECEIVER_" // how the variables of receivers begin
	envAPIKey   = "DEALHOUSE_API_KEY"   //nolint:gosec // G101: the name of the variable, not its value

	// onlyAccount is the name of that account unless envAccount says another.
	onlyAccount = "default"
)

// servicePattern matches the variables that Kubernetes makes for a service, except for the plain _PORT: that is
// recognised by its value.
var servicePattern = regexp.MustCompile(`_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`)

// otherPrograms returns the DEALHOUSE_ variables that are not for this package. The embedded engine reads those
// that are for it.
func otherPrograms() []string { return []string{envFile, "DEALHOUSE_CHDB_LIBRARY"} }

// singleVariable returns the variable that gives a key to the only account.
func singleVariable(key string) string {
	switch key {
	case "name":
		return envAccount
	case "base_url":
		return envBaseURL
	default:
		return envAPIKey
	}
}

// parseEnv makes a map of os.Environ. A variable that is set to nothing counts as not set: compose files and shells
// leave such variables behind. A line break at the end is not part of the value: editors and shells leave it in the
// files from which Kubernetes and others make variables.
func parseEnv(environ []string) map[string]string {
	env := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		value = strings.TrimRight(value, "\r\n")
		if _, seen := env[name]; !seen && value != "" {
			env[name] = value
		}
	}
	return env
}

// overrides puts environment variables into the tree, as if they were in the file.
type overrides struct {
	*findings
	env   map[string]string
	known []string // more variables that are for other programs

	targets map[string][]target
}

// target is a key that a variable may set.
type target struct {
	key  string
	text string // the key with its table, for messages
	open func() *node
}

// apply changes the tree.
func (o *overrides) apply(root *node) {
	references := o.references(root)
	used := o.singleAccount(root, references)
	o.targets = map[string][]target{}
	o.collect(schema(), nil, nil, func() *node { return root })
	for _, name := range slices.Sorted(maps.Keys(o.env)) {
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(used, name) {
			continue
		}
		switch targets := o.targets[name]; {
		case len(targets) == 1:
			at := position{env: name}
			table := targets[0].open()
			if table == nil {
				continue // the walk reports what is there instead of a table
			}
			table.set(targets[0].key, at, &node{kind: fromEnv, at: at, text: o.env[name]})
		case len(targets) > 1 && targets[0].text == targets[1].text:
			// Two accounts of one name, which is reported as such.
		case len(targets) > 1:
			o.problem(position{env: name}, "is ambiguous: it could set %s or %s", targets[0].text, targets[1].text)
		case !slices.Contains(references, name) && !o.foreign(name):
			o.unknown(name, len(accountNodes(root)))
		}
	}
}

// references lists the variables that an env: in the file names.
func (o *overrides) references(root *node) []string {
	var list []string
	add := func(n *node) {
		if n == nil || n.kind != aString {
			return
		}
		if r, err := parseReference(n.text); err == nil && r.scheme == fromEnvironment {
			list = append(list, r.target)
		}
	}
	for _, receiver := range itemNodes(root, "receiver") {
		for _, name := range receiverSecrets {
			add(receiver.keys[name])
		}
	}
	for _, account := range accountNodes(root) {
		add(account.keys["api_key"])
		streams, ok := account.keys["streams"]
		if !ok {
			continue
		}
		for _, stream := range streams.keys {
			add(stream.keys["api_key"])
		}
	}
	// A variable may name another variable.
	for name, value := range o.env {
		if r, err := parseReference(value); err == nil && strings.HasPrefix(name, envPrefix) &&
			(strings.HasSuffix(name, "_API_KEY") || strings.HasPrefix(name, envReceiver)) &&
			r.scheme == fromEnvironment {
			list = append(list, r.target)
		}
	}
	return list
}

// receiverSecrets are the keys of a receiver that may name a variable.
var receiverSecrets = []string{"url", "token", "password"}

// accountNodes lists the tables of accounts.
func accountNodes(root *node) []*node { return itemNodes(root, "account") }

// itemNodes lists the tables of a repeated table.
func itemNodes(root *node, name string) []*node {
	list, ok := root.keys[name]
	if !ok {
		return nil
	}
	if list.kind == aTable {
		return []*node{list}
	}
	return slices.DeleteFunc(slices.Clone(list.items), func(n *node) bool { return n.kind != aTable })
}

// singleAccount makes an account of three variables when the file has none. It returns the variables that it dealt
// with.
func (o *overrides) singleAccount(root *node, references []string) []string {
	var set []string
	for _, name := range []string{envAPIKey, envBaseURL, envAccount} {
		if o.env[name] != "" && !slices.Contains(references, name) {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return nil
	}
	if _, has := root.keys["account"]; has {
		for _, name := range set {
			o.problem(position{env: name}, "is for a configuration without accounts, but the file has some%s",
				o.instead(root, name))
		}
		return set
	}
	at := position{env: set[0]}
	account := newTable(at)
	put := func(key, text string, at position) {
		account.set(key, at, &node{kind: fromEnv, at: at, text: text})
	}
	if !slices.Contains(set, envAccount) {
		put("name", onlyAccount, at)
	}
	for _, name := range set {
		key := strings.ToLower(strings.TrimPrefix(name, envPrefix))
		if name == envAccount {
			key = "name"
		}
		put(key, o.env[name], position{env: name})
	}
	root.set("account", at, &node{kind: anArray, at: at, header: true, items: []*node{account}})
	return set
}

// instead names the variable that sets the same key of the first account.
func (o *overrides) instead(root *node, variable string) string {
	accounts := accountNodes(root)
	if variable == envAccount || len(accounts) == 0 || accountName(accounts[0]) == "" {
		return ""
	}
	return fmt.Sprintf("; use %s", envName("account", accountName(accounts[0]),
		strings.TrimPrefix(variable, envPrefix)))
}

// accountName returns the name of an account in the tree, or "" if it is not a valid one.
func accountName(account *node) string {
	n := account.keys["name"]
	if n == nil || n.kind != aString && n.kind != fromEnv || checkAccountName(n.text) != nil {
		return ""
	}
	return n.text
}

// collect finds the variable of every key that may be set.
func (o *overrides) collect(s section, path, env []string, open func() *node) {
	for _, k := range keysIn(s) {
		if k.fixed {
			continue
		}
		name := envName(append(slices.Clone(env), k.name)...)
		o.targets[name] = append(o.targets[name], target{
			key: k.name, text: strings.Join(append(slices.Clone(path), k.name), "."), open: open,
		})
	}
	for _, child := range s.children {
		childPath, childEnv := append(slices.Clone(path), child.name), append(slices.Clone(env), child.name)
		if !child.repeated {
			o.collect(child, childPath, childEnv, func() *node {
				parent := open()
				if parent == nil {
					return nil
				}
				return parent.table(child.name, parent.at)
			})
			continue
		}
		for _, item := range itemNodes(open(), child.name) {
			if name := accountName(item); name != "" {
				o.collect(child, append(slices.Clone(childPath), name), append(slices.Clone(childEnv), name),
					func() *node { return item })
			}
		}
	}
}

// envName returns the variable of a key: DEALHOUSE_ and the path of the key in capitals.
func envName(path ...string) string {
	name := strings.ToUpper(strings.Join(path, "_"))
	return envPrefix + strings.NewReplacer("-", "_", ".", "_").Replace(name)
}

// foreign says whether a variable is meant for someone else. Kubernetes gives every pod variables for the services of
// its namespace: a service called dealhouse makes DEALHOUSE_SERVICE_HOST, DEALHOUSE_PORT and more.
func (o *overrides) foreign(name string) bool {
	if slices.Contains(otherPrograms(), name) || slices.Contains(o.known, name) {
		return true
	}
	if servicePattern.MatchString(name) {
		return true
	}
	return strings.HasSuffix(name, "_PORT") && strings.Contains(o.env[name], "://")
}

func (o *overrides) unknown(name string, accounts int) {
	var candidates []string
	for known := range o.targets {
		candidates = append(candidates, strings.TrimPrefix(known, envPrefix))
	}
	slices.Sort(candidates)
	// Long names are similar because of their common parts, so the bound is low.
	const wrong = 2
	near, ok := nearest(strings.TrimPrefix(name, envPrefix), candidates, wrong)
	hint := ""
	switch {
	case ok:
		hint = fmt.Sprintf("; did you mean %q?", envPrefix+near)
	case strings.HasPrefix(name, envAccount+"_") && accounts == 0:
		hint = "; no account is configured"
	case strings.HasPrefix(name, envAccount+"_"):
		hint = "; no account has such a key"
	}
	o.problem(position{env: name}, "is unknown%s", hint)
}
