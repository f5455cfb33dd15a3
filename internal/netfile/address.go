// Package netfile reads files on web servers, and reads, lists and writes those in S3-compatible
// stores. Credentials come from the environment, and no message holds them or a query.
package netfile

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

const storeScheme = "s3://"

// IsStored reports whether a name is the address of a file in a store, s3://BUCKET/KEY.
func IsStored(name string) bool { return hasScheme(name, storeScheme) }

// IsWeb reports whether a name is an address of a web server.
func IsWeb(name string) bool { return hasScheme(name, "https://") || hasScheme(name, "http://") }

// Is reports whether a name is an address that Fetch reads.
func Is(name string) bool { return IsStored(name) || IsWeb(name) }

func hasScheme(name, scheme string) bool {
	return len(name) > len(scheme) && strings.EqualFold(name[:len(scheme)], scheme)
}

// Shown returns an address without user, password, query and fragment, which may be secrets. Other
// names stay as they are.
func Shown(name string) string {
	if !IsWeb(name) {
		return name
	}
	u, err := url.Parse(name)
	if err != nil { // keep the parts without secrets
		name, _, _ = strings.Cut(name, "?")
		return name[strings.LastIndex(name, "@")+1:]
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// ShownArgs applies Shown to arguments of a command line: ADDRESS, --input=ADDRESS, -iADDRESS.
func ShownArgs(args []string) []string {
	shown := slices.Clone(args)
	for i, arg := range shown {
		at := max(strings.Index(arg, "http://"), strings.Index(arg, "https://"))
		if at == 0 || at > 0 && arg[0] == '-' {
			shown[i] = arg[:at] + Shown(arg[at:])
		}
	}
	return shown
}

// ShowFetched is ShownArgs for the addresses that are fetched.
func ShowFetched(args []string) []string {
	shown := ShownArgs(args)
	for i, arg := range args {
		if strings.Contains(arg, "http://") { // FFmpeg reads it
			shown[i] = arg
		}
	}
	return shown
}

// Base returns the file name of an address, possibly "".
func Base(address string) string {
	_, key := split(address)
	if base := path.Base(key); base != "." && base != "/" && !strings.HasSuffix(key, "/") {
		return base
	}
	return ""
}

// Dir returns the name of the folder of an address, possibly "".
func Dir(address string) string {
	_, key := split(address)
	if dir := path.Base(path.Dir(key)); dir != "." && dir != "/" {
		return dir
	}
	return ""
}

// split returns the bucket or the host of an address, and the key or the path without its slash.
func split(address string) (where, key string) {
	if IsStored(address) {
		where, key, _ = strings.Cut(address[len(storeScheme):], "/")
		return where, key
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	return u.Host, strings.TrimPrefix(u.Path, "/")
}

// Join returns the address of a file below a folder of a store. name has slashes.
func Join(folder, name string) string { return strings.TrimSuffix(folder, "/") + "/" + name }

// WithoutCredentials returns an environment without the variables of the stores' credentials.
func WithoutCredentials(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "AWS_") })
}
