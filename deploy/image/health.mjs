// Says by its exit status whether the process of this container lives; with the argument `/readyz`,
// whether it takes work. It asks the address of PERDURE_METRICS.
const [path = '/healthz'] = process.argv.slice(2);
const port = /(\d+)$/.exec(process.env['PERDURE_METRICS'] ?? '')?.[1] ?? '9464';
try {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(4_000) });
  process.stdout.write(await answer.text());
  process.exitCode = answer.ok ? 0 : 1;
} catch (error) {
  process.stdout.write(`${error.cause?.message ?? error.message}\n`);
  process.exitCode = 1;
}
