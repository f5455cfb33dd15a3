package fleet

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"vidfilter/internal/e2e"
)

func example(t *testing.T, name string) string {
	t.Helper()
	return string(e2e.Read(t, filepath.Join("../../../deploy", name)))
}

// understood checks that the program knows all options of a command. With --help it does not run,
// but still refuses unknown options.
func understood(t *testing.T, where string, command []string) {
	t.Helper()
	if out, err := exec.Command(e2e.Program, append(slices.Clone(command), "--help")...).CombinedOutput(); err != nil {
		t.Errorf("%s: vidfilter %s: %v: %s", where, strings.Join(command, " "), err, out)
	}
	if len(command) == 0 || !slices.Contains([]string{"serve", "worker", "agent", "batch", "jobs"}, command[0]) {
		t.Errorf("%s: %q is no command for many machines", where, command)
	}
}

// The program understands every command line of the examples.
func TestDeployCommands(t *testing.T) {
	found := map[string]int{}
	for _, name := range []string{"README.md", "vidfilter-serve.service", "vidfilter-worker.service", "vidfilter-agent.service", "slurm.sh", "nats.conf"} {
		for line := range strings.Lines(strings.ReplaceAll(example(t, name), "\\\n#", "")) {
			line = strings.TrimLeft(strings.TrimSpace(line), "# ")
			for _, before := range []string{"ExecStart=/usr/local/bin/vidfilter ", "exec vidfilter ", "vidfilter "} {
				command, ok := strings.CutPrefix(line, before)
				if ok && strings.Contains(command, "--") {
					command, _, _ = strings.Cut(command, "#")
					understood(t, name, strings.Fields(command))
					found[name]++
					break
				}
			}
		}
	}
	for name, least := range map[string]int{"README.md": 4, "vidfilter-serve.service": 1, "vidfilter-worker.service": 1, "vidfilter-agent.service": 1, "slurm.sh": 1, "nats.conf": 1} {
		if found[name] < least {
			t.Errorf("%s: %d commands found, %d expected", name, found[name], least)
		}
	}
}

// manifest is the tested part of a Kubernetes object.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		PodSelector map[string]any `yaml:"podSelector"`
		Types       []string       `yaml:"policyTypes"`
		Egress      []map[string]any
		Ingress     []struct {
			From  []map[string]any
			Ports []struct{ Port int }
		}
		Selector map[string]any
		Ports    []struct{ Port int }
		Template struct {
			Metadata struct{ Labels map[string]any }
			Spec     struct {
				Token    *bool `yaml:"automountServiceAccountToken"`
				Security struct {
					NonRoot bool                  `yaml:"runAsNonRoot"`
					Seccomp struct{ Type string } `yaml:"seccompProfile"`
				} `yaml:"securityContext"`
				Containers []struct {
					Security struct {
						Escalation   *bool `yaml:"allowPrivilegeEscalation"`
						ReadOnly     bool  `yaml:"readOnlyRootFilesystem"`
						Capabilities struct{ Drop []string }
					} `yaml:"securityContext"`
					Command []string
					Env     []struct {
						Name      string
						ValueFrom struct {
							Secret struct{ Name, Key string } `yaml:"secretKeyRef"`
						} `yaml:"valueFrom"`
					}
					Ready probe `yaml:"readinessProbe"`
					Live  probe `yaml:"livenessProbe"`
					Ports []struct {
						Port int `yaml:"containerPort"`
					}
					VolumeMounts []struct{ Name string } `yaml:"volumeMounts"`
				}
				Volumes []struct{ Name string }
			}
		}
		Claims []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
	}
}

type probe struct {
	Get struct {
		Path, Scheme string
		Port         int
	} `yaml:"httpGet"`
}

// manifests are the objects of the example, by kind and by kind and name.
func manifests(t *testing.T) map[string]manifest {
	t.Helper()
	all := map[string]manifest{}
	for d := yaml.NewDecoder(strings.NewReader(example(t, "kubernetes.yaml"))); ; {
		var m manifest
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		if _, there := all[m.Kind]; !there {
			all[m.Kind] = must(m, err)
		}
		all[m.Kind+"/"+m.Metadata.Name] = must(m, err)
	}
}

// The status page has TLS and a token, both from secrets, and the network policy closes all other
// ports.
func TestDeployStatus(t *testing.T) {
	all := manifests(t)
	queue := all["StatefulSet"]
	c := queue.Spec.Template.Spec.Containers[0]
	options := strings.Join(c.Command, " ")
	e2e.Contains(t, options, "--status-cert /tls/", "--status-key /tls/")
	if strings.Contains(options, "--token") || len(c.Env) != 1 || c.Env[0].Name != "VIDFILTER_TOKEN" || c.Env[0].ValueFrom.Secret.Key == "" {
		t.Errorf("the token: %s, %+v", options, c.Env)
	}
	// A full disk must not restart the queue, so that it is not asked for its health to live.
	for path, p := range map[string]probe{"/healthz": c.Ready, "/livez": c.Live} {
		if p.Get.Scheme != "HTTPS" || p.Get.Path != path || p.Get.Port != 8080 {
			t.Errorf("the probe of %s: %+v", path, p)
		}
	}
	policy := all["NetworkPolicy"].Spec
	if !reflect.DeepEqual(policy.PodSelector["matchLabels"], any(queue.Spec.Template.Metadata.Labels)) {
		t.Errorf("the policy is for %v", policy.PodSelector)
	}
	let := map[int]bool{}
	for _, in := range policy.Ingress {
		for _, p := range in.Ports {
			let[p.Port] = len(in.From) > 0
		}
	}
	if len(let) != 2 || !let[4222] || !let[8080] {
		t.Errorf("let in: %v", let)
	}
}

// The objects fit together: labels, ports, volumes and commands.
func TestDeployKubernetes(t *testing.T) {
	all := manifests(t)
	open := map[int]bool{}
	for _, kind := range []string{"StatefulSet", "Deployment"} {
		m := all[kind]
		if labels := m.Spec.Template.Metadata.Labels; len(labels) == 0 || !reflect.DeepEqual(m.Spec.Selector["matchLabels"], any(labels)) {
			t.Errorf("%s: labels %v, selector %v", kind, labels, m.Spec.Selector)
		}
		var volumes, mounts []string
		for _, v := range m.Spec.Template.Spec.Volumes {
			volumes = append(volumes, v.Name)
		}
		for _, c := range m.Spec.Claims {
			volumes = append(volumes, c.Metadata.Name)
		}
		for _, c := range m.Spec.Template.Spec.Containers {
			if len(c.Command) < 2 || c.Command[0] != "vidfilter" {
				t.Fatalf("%s: %q", kind, c.Command)
			}
			understood(t, kind, c.Command[1:])
			for _, v := range c.VolumeMounts {
				mounts = append(mounts, v.Name)
			}
			for _, p := range c.Ports {
				open[p.Port] = true
			}
		}
		slices.Sort(volumes)
		slices.Sort(mounts)
		if len(mounts) == 0 || !slices.Equal(volumes, mounts) {
			t.Errorf("%s: volumes %q, mounted %q", kind, volumes, mounts)
		}
	}
	if service := all["Service"]; len(service.Spec.Ports) == 0 || !reflect.DeepEqual(service.Spec.Selector, all["StatefulSet"].Spec.Template.Metadata.Labels) {
		t.Errorf("the service: %+v", service.Spec)
	}
	for _, p := range all["Service"].Spec.Ports {
		if !open[p.Port] {
			t.Errorf("nothing listens at port %d of the service", p.Port)
		}
	}
}

// Pods run without root, without a writable root and without capabilities, and workers reach the
// queue only.
func TestDeploySecurity(t *testing.T) {
	all := manifests(t)
	for _, kind := range []string{"StatefulSet", "Deployment"} {
		pod := all[kind].Spec.Template.Spec
		if s := pod.Security; !s.NonRoot || s.Seccomp.Type != "RuntimeDefault" || pod.Token == nil || *pod.Token {
			t.Errorf("%s: %+v, token %v", kind, s, pod.Token)
		}
		for _, c := range pod.Containers {
			if s := c.Security; s.Escalation == nil || *s.Escalation || !s.ReadOnly || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
				t.Errorf("%s: %+v", kind, s)
			}
		}
		app := all[kind].Spec.Template.Metadata.Labels
		name := all[kind].Metadata.Name
		for _, with := range []string{"PodDisruptionBudget/", "NetworkPolicy/"} {
			m := all[with+name]
			got := m.Spec.PodSelector
			if m.Kind == "PodDisruptionBudget" {
				got = m.Spec.Selector
			}
			if !reflect.DeepEqual(got["matchLabels"], any(app)) {
				t.Errorf("%s%s is for %v", with, name, got)
			}
		}
	}
	out := all["NetworkPolicy/vidfilter-worker"].Spec
	if len(out.Ingress) > 0 || len(out.Egress) != 2 || !slices.Equal(out.Types, []string{"Ingress", "Egress"}) {
		t.Errorf("workers: %+v", out)
	}
}

func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("no %s on this machine", name)
	}
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s: %v: %s", name, err, out)
	}
}

func TestDeployShell(t *testing.T) { tool(t, "shellcheck", "../../../deploy/slurm.sh") }

func TestDeployUnits(t *testing.T) {
	dir := t.TempDir()
	args := []string{"verify", "--man=no", "--recursive-errors=no"}
	for _, name := range []string{"vidfilter-serve.service", "vidfilter-worker.service", "vidfilter-agent.service"} {
		// The program need not be installed.
		unit := strings.ReplaceAll(example(t, name), "/usr/local/bin/vidfilter", e2e.Program)
		e2e.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(unit), 0o666))
		args = append(args, filepath.Join(dir, name))
	}
	tool(t, "systemd-analyze", args...)
}

// systemd itself rates the units: below 3.0 of 10.
func TestDeployExposure(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("no systemd-analyze on this machine")
	}
	for _, name := range []string{"vidfilter-serve.service", "vidfilter-worker.service", "vidfilter-agent.service"} {
		out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager", "../../../deploy/"+name).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}
