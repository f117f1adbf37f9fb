package main

import (
	"bytes"
	"embed"
	"go/format"
	"strings"
	"text/template"
)

//go:embed template
var templates embed.FS

// render fills the templates in; the result is keyed by path within the
// project, with slashes.
func (p *project) render() (map[string][]byte, error) {
	all, err := template.ParseFS(templates, "template/*.tmpl")
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	for _, t := range all.Templates() {
		var b bytes.Buffer
		if err := t.Execute(&b, p); err != nil {
			return nil, err
		}
		name, text := strings.TrimSuffix(t.Name(), ".tmpl"), b.Bytes()
		switch {
		case strings.HasPrefix(name, "idl."):
			if name != "idl."+p.IDL {
				continue
			}
			name = "idl/" + p.Name + "." + p.IDL
		case strings.HasSuffix(name, ".go"):
			if text, err = format.Source(text); err != nil {
				return nil, err
			}
		}
		files[name] = text
	}
	return files, nil
}
