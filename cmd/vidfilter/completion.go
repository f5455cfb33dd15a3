package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

var shells = []string{"bash", "zsh", "fish"}

// runCompletion prints the completion script for a shell, made from the flag sets.
func runCompletion(args []string, w io.Writer) error {
	if len(args) != 1 {
		return usagef("for example: source <(vidfilter completion bash)", "completion takes the name of one shell")
	}
	script := map[string]func(job *pflag.FlagSet, own map[string]*pflag.FlagSet) string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[args[0]]
	if script == nil {
		return badValue("completion", args[0], unknownName(shells, args[0]))
	}
	_, err := io.WriteString(w, script(defaultOptions().flags(), ownFlags()))
	return err
}

// valuesOf returns the names that a flag's value may have, as far as they are known.
func valuesOf(f *pflag.Flag) []string {
	if c, ok := f.Value.(interface{ Choices() []string }); ok {
		return c.Choices()
	}
	return nil
}

func isFile(f *pflag.Flag) bool   { return f.Value.Type() == "FILE" }
func isSwitch(f *pflag.Flag) bool { return f.Value.Type() == "bool" }

// spellings are -r and --radius.
func spellings(f *pflag.Flag) []string {
	if f.Shorthand == "" {
		return []string{"--" + f.Name}
	}
	return []string{"-" + f.Shorthand, "--" + f.Name}
}

func commandNames() (all []string) {
	for _, c := range commands() {
		all = append(all, c.name)
	}
	return all
}

func bashScript(job *pflag.FlagSet, own map[string]*pflag.FlagSet) string {
	var commands strings.Builder
	for _, name := range slices.Sorted(maps.Keys(own)) {
		fmt.Fprintf(&commands, bashCommand, name, bashCases(own[name]), bashNames(own[name]))
	}
	return fmt.Sprintf(bashTemplate, commands.String(), bashCases(job), strings.Join(shells, " "),
		strings.Join(commandNames(), " "), bashNames(job))
}

// bashCases completes the values of flags.
func bashCases(fs *pflag.FlagSet) string {
	var cases strings.Builder
	fs.VisitAll(func(f *pflag.Flag) {
		if !isSwitch(f) {
			fmt.Fprintf(&cases, "    %s) %s; return ;;\n", strings.Join(spellings(f), "|"), bashValues(f))
		}
	})
	return cases.String()
}

func bashNames(fs *pflag.FlagSet) string { return "--" + strings.Join(longNames(fs), " --") }

func bashValues(f *pflag.Flag) string {
	switch v := valuesOf(f); {
	case isFile(f):
		return "compopt -o default 2>/dev/null"
	case v != nil:
		return fmt.Sprintf(`COMPREPLY=($(compgen -W "%s" -- "$cur"))`, strings.Join(v, " "))
	}
	return ":"
}

// bashCommand is for a command with flags of its own.
const bashCommand = `  if [[ ${COMP_WORDS[1]} == %s && $COMP_CWORD -gt 1 ]]; then
    case $prev in
%s    esac
    COMPREPLY=($(compgen -W "%s" -- "$cur"))
    return
  fi
`

// In --name=value bash splits words at the "=".
const bashTemplate = `# bash completion of vidfilter
_vidfilter() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if [[ $cur == "=" ]]; then
    cur=
  elif [[ $prev == "=" ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
%s  case $prev in
%s    completion) COMPREPLY=($(compgen -W "%s" -- "$cur")); return ;;
  esac
  if [[ $COMP_CWORD -eq 1 && $cur != -* ]]; then
    COMPREPLY=($(compgen -W "%s" -- "$cur"))
    return
  fi
  case ${COMP_WORDS[1]} in
    info|compare)
      if [[ $cur == -* ]]; then
        [[ ${COMP_WORDS[1]} == compare ]] || COMPREPLY=($(compgen -W "--json" -- "$cur"))
      else
        compopt -o default 2>/dev/null
      fi
      return ;;
  esac
  COMPREPLY=($(compgen -W "%s" -- "$cur"))
}
complete -F _vidfilter vidfilter
`

func zshScript(job *pflag.FlagSet, own map[string]*pflag.FlagSet) string {
	var b strings.Builder
	b.WriteString("#compdef vidfilter\n# zsh completion of vidfilter\n_vidfilter() {\n")
	fmt.Fprintf(&b, "  local -a commands=(%s)\n", strings.Join(commandNames(), " "))
	b.WriteString("  case $words[2] in\n    info) _arguments '--json[as JSON]' '*:file:_files'; return ;;\n    compare) _files; return ;;\n")
	fmt.Fprintf(&b, "    completion) _values shell %s; return ;;\n", strings.Join(shells, " "))
	for _, name := range slices.Sorted(maps.Keys(own)) {
		fmt.Fprintf(&b, "    %s) _arguments -s \\\n%s      '1:command:'; return ;;\n", name, zshFlags(own[name]))
	}
	b.WriteString("  esac\n")
	fmt.Fprintf(&b, "  _arguments -s \\\n%s    '1:command:($commands)'\n}\n", zshFlags(job))
	b.WriteString("if [[ $funcstack[1] == _vidfilter ]]; then _vidfilter \"$@\"; else compdef _vidfilter vidfilter; fi\n")
	return b.String()
}

func zshFlags(fs *pflag.FlagSet) string {
	var b strings.Builder
	fs.VisitAll(func(f *pflag.Flag) { fmt.Fprintf(&b, "    %s \\\n", zshFlag(f)) })
	return b.String()
}

func zshFlag(f *pflag.Flag) string {
	names := spellings(f)
	spec := "'" + names[0]
	if len(names) == 2 {
		spec = fmt.Sprintf("'(%s)'{%s}'", strings.Join(names, " "), strings.Join(names, ","))
	} else if !isSwitch(f) {
		spec += "="
	}
	return spec + "[" + zshQuote(f.Usage) + "]" + zshValues(f) + "'"
}

func zshValues(f *pflag.Flag) string {
	v := valuesOf(f)
	switch {
	case isSwitch(f):
		return ""
	case isFile(f):
		return ":file:_files"
	case v != nil:
		return fmt.Sprintf(":%s:(%s)", f.Name, strings.Join(v, " "))
	}
	return ":" + f.Name + ": "
}

var zshQuote = strings.NewReplacer(`'`, `'\''`, `[`, `\[`, `]`, `\]`, `:`, `\:`, `\`, `\\`).Replace

func fishScript(job *pflag.FlagSet, own map[string]*pflag.FlagSet) string {
	var b strings.Builder
	b.WriteString("# fish completion of vidfilter\ncomplete -c vidfilter -f\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "complete -c vidfilter -n __fish_use_subcommand -a %s -d %s\n", c.name, fishQuote(c.text))
	}
	b.WriteString("complete -c vidfilter -n '__fish_seen_subcommand_from info compare' -F\n")
	b.WriteString("complete -c vidfilter -n '__fish_seen_subcommand_from info' -l json -d 'as JSON'\n")
	fmt.Fprintf(&b, "complete -c vidfilter -n '__fish_seen_subcommand_from completion' -a '%s'\n", strings.Join(shells, " "))
	names := slices.Sorted(maps.Keys(own))
	for _, name := range names {
		own[name].VisitAll(func(f *pflag.Flag) { b.WriteString(fishFlag(f, "__fish_seen_subcommand_from "+name)) })
	}
	not := "not __fish_seen_subcommand_from " + strings.Join(names, " ")
	job.VisitAll(func(f *pflag.Flag) { b.WriteString(fishFlag(f, not)) })
	return b.String()
}

// fishFlag offers a flag where the condition holds.
func fishFlag(f *pflag.Flag, condition string) string {
	s := "complete -c vidfilter -n '" + condition + "' -l " + f.Name
	if f.Shorthand != "" {
		s += " -s " + f.Shorthand
	}
	switch v := valuesOf(f); {
	case isSwitch(f):
	case isFile(f):
		s += " -r -F"
	case v != nil:
		s += " -x -a '" + strings.Join(v, " ") + "'"
	default:
		s += " -x"
	}
	return s + " -d " + fishQuote(f.Usage) + "\n"
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
