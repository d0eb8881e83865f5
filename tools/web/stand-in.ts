/**
 * A fake search service and a small fake web for development and tests, as one function with the signature of `fetch`.
 * It implements the contract of `service.ts` and serves the pages that a search finds. All content is made up, dates
 * are relative to today, and answers are marked `source: "stand-in"`. Special pages simulate failures:
 *
 *     https://news.stand-in.example/moved     redirects to an article
 *     https://news.stand-in.example/inside    redirects to a private address, which is refused
 *     https://news.stand-in.example/circle    redirects to itself
 *     https://news.stand-in.example/picture   is an image
 *     https://news.stand-in.example/lost      never answers
 */
import { type Article, ARTICLES } from './corpus.ts'

const HOST = 'news.stand-in.example'
const DAY = 86_400_000

/** Tells whether a page belongs to the stand-in. Public DNS has no names that end in `.example`. */
export function isStandIn(url: string): boolean {
  return URL.canParse(url) && new URL(url).hostname === HOST
}

/** Answers a request. Rejects with the signal's reason when the signal aborts, as `fetch` does. */
export async function standIn(
  input: Request | string,
  { signal }: { readonly signal?: AbortSignal | null } = {},
): Promise<Response> {
  signal?.throwIfAborted()
  const url = new URL(typeof input === 'string' ? input : input.url)
  const { pathname, searchParams } = url
  if (url.hostname !== HOST)
    return Response.json(search(searchParams.get('q') ?? '', Number(searchParams.get('count'))))
  switch (pathname) {
    case '/moved':
      return redirect(`/${ARTICLES[0]?.slug}`)
    case '/inside':
      return redirect('https://169.254.169.254/')
    case '/circle':
      return redirect('/circle')
    case '/picture':
      return new Response(new Uint8Array(8), { headers: { 'content-type': 'image/png' } })
    case '/lost':
      return aborted(signal)
    default:
      return page(ARTICLES.find(({ slug }) => pathname === `/${slug}`))
  }
}

function search(query: string, count: number) {
  const words = wordsOf(query)
  const scores = ARTICLES.map((article) => ({ article, score: scoreOf(article, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.article.age - b.article.age)
  return {
    results: scores.slice(0, count).map(({ article: { slug, title, paragraphs, age } }) => {
      return { title, url: `https://${HOST}/${slug}`, snippet: paragraphs[0], date: dayBefore(age) }
    }),
    source: 'stand-in',
  }
}

const SMALL = /^(?:the|of|in|on|for|about|and|or|to|from|an|is|are|what|latest|newest|recent|today|todays|最新|的)$/
const HAN = /\p{Script=Han}/u

/**
 * Returns the search words of a text, without stop words and without a plural's `s`. Chinese text does not separate
 * words, so each pair of adjacent characters counts as one.
 */
function wordsOf(text: string): string[] {
  const runs = text.toLowerCase().match(/\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{L}\p{N}])+/gu) ?? []
  const words = runs.flatMap((run) => {
    return HAN.test(run) && run.length > 2 ? Array.from(run.slice(1), (_, at) => run.slice(at, at + 2)) : run
  })
  return words.filter((word) => !SMALL.test(word)).map((word) => (word.length > 3 ? word.replace(/s$/, '') : word))
}

/** Counts the words that an article contains, those of its title and tags twice; 0 unless it contains over half. */
function scoreOf({ title, tags, paragraphs }: Article, words: readonly string[]): number {
  const topics = new Set(wordsOf(`${title} ${tags}`))
  const text = new Set(wordsOf(paragraphs.join(' ')))
  const inTopics = words.filter((word) => topics.has(word)).length
  const inText = words.filter((word) => !topics.has(word) && text.has(word)).length
  return inTopics + inText > words.length / 2 ? inTopics * 2 + inText : 0
}

function page(article: Article | undefined): Response {
  if (!article) return new Response('<h1>There is no such page</h1>', { status: 404, headers: HTML })
  const { title, paragraphs, age } = article
  return new Response(
    `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title} &ndash; The Stand-in</title><style>p { max-width: 40em }</style></head>
<body>
<nav><a href="/">News</a> <a href="/sport">Sport</a></nav>
<main>
<h1>${title}</h1>
<p><time>${dayBefore(age)}</time>, made up for demonstration</p>
${paragraphs.map((text) => `<p>${text}</p>`).join('\n')}
</main>
<script>document.title = 'read'</script>
<footer>&copy; The Stand-in</footer>
</body>
</html>`,
    { headers: HTML },
  )
}

const HTML = { 'content-type': 'text/html; charset=utf-8' }

function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { location } })
}

function dayBefore(days: number): string {
  return new Date(Date.now() - days * DAY).toISOString().slice(0, 10)
}

function aborted(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
