// What every page has around it.
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';

type Props = { readonly title: string; readonly refreshSeconds?: number; readonly children: Child };

export function Layout({ title, refreshSeconds, children }: Props) {
  return (
    <>
      {raw('<!doctype html>')}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          {refreshSeconds === undefined ? null : <meta http-equiv="refresh" content={String(refreshSeconds)} />}
          <title>{`${title} · Perdure`}</title>
          <link rel="stylesheet" href="/style.css" />
        </head>
        <body>
          <main>{children}</main>
        </body>
      </html>
    </>
  );
}
