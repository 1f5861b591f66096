// No test goes through a proxy that the shell it runs in names: each that wants one sets it. The
// tier `packages` installs from a registry, and keeps them.
for (const name of Object.keys(process.env)) {
  if (/^(https?|all|no)_proxy$/i.test(name)) delete process.env[name];
}
