// No test inherits what the shell it runs in was set to: each sets what it needs.
for (const name of Object.keys(process.env)) {
  if (/^(ANTHROPIC|TEMPORAL|PERDURE|CLAUDE)_/.test(name)) delete process.env[name];
}
