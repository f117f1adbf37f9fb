package main

// What --help prints. Flags are shown with one dash, as the documentation has
// them; two are taken as well.

const rootHelp = `limosa: {{.Usage}}

Usage:
  {{.UsageText}}

Commands:
{{range .VisibleCommands}}  {{.Name}}{{"\t"}}{{.Usage}}
{{end}}
limosa COMMAND --help tells more, with an example.
`

const commandHelp = `{{.FullName}}: {{.Usage}}

Usage:
  {{.UsageText}}

{{.Description}}
{{with .VisibleFlags}}
Flags:
{{range .}}  {{range $i, $n := .Names}}{{if $i}}, {{end}}-{{$n}}{{end}}{{if ne .TypeName "bool"}} {{.TypeName}}{{end}}{{"\t"}}{{.GetUsage}}
{{end}}{{end}}`
