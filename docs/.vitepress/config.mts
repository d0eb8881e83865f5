import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'

/**
 * The site of these pages: `npx vitepress@1.6.4 build docs`, or `dev docs` to write them. VitePress is not a dependency of
 * this repository, so Vue is taken from where npx has put VitePress.
 */
const vue = dirname(createRequire(process.argv[1] ?? '').resolve('vue/package.json'))

/** The sections of README.md beside this folder: a bold title, and a list of links. */
const contents = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const sidebar = [...contents.matchAll(/^\*\*(.+)\*\*\n\n((?:- .*\n|  .*\n)+)/gm)].map(([, text, list = '']) => ({
  text,
  items: [...list.matchAll(/\[([^\]]+)\]\(([\w-]+)\.md\)/g)].map(([, title, page]) => ({
    text: title,
    link: `/${page}`,
  })),
}))

export default {
  title: 'Edgecall',
  description: 'A serverless deployment kit for LLM tool calling on Cloudflare',
  rewrites: { 'README.md': 'index.md' },
  // Links to the code lead out of the site.
  ignoreDeadLinks: [/\.\.\//],
  themeConfig: { sidebar, outline: 'deep', search: { provider: 'local' } },
  vite: { resolve: { alias: { vue } }, ssr: { noExternal: true } },
}
