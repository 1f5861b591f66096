// No test inherits what the shell it runs in was set to: each sets what it needs.
for (const name of Object.keys(process.env)) {
  if (/^(ANTHROPIC|TEMPORAL|PERDURE|CLAUDE)_/.test(name)) delete process.env[name];
}

// A bash whose standard input is a socket, as Node's pipes are, takes itself for one that was begun
// over a network and reads the user's start-up file, unless it is a shell within a shell.
process.env.SHLVL = '1';
