import { toBase64 } from '../../contract/bytes.ts'
import type { BinaryContent, Content, LinkedContent, Message, TextContent } from '../../contract/message.ts'
import type { ModelCapabilities } from '../../contract/model.ts'
import { isPrivate } from '../../contract/private-host.ts'
import type { FetchFiles, Setup } from '../../contract/setup.ts'
import { Problem } from '../problem.ts'
import { inPool } from '../../loop/perform/act.ts'

const MOST_REDIRECTS = 3
const TIMEOUT_MS = 10_000
/** The most files that are fetched for one request: each is in memory as bytes and as base64. */
const MOST_FILES = 20
/** The most characters of base64 of all of them: together they are sent to the object of a conversation, in 32 MiB. */
const MOST_CHARACTERS = 28 * 1024 * 1024
const TOO_LARGE_TOGETHER = 'all files of the request have more than 21 MiB together'
/** How many files are fetched at a time. The platform would queue more of them, while their time limits run. */
const MOST_CONNECTIONS = 6

/**
 * Fetches files from `FILE_HOSTS`, so that they are sent to models as data. Throws a Problem for a file that may not be
 * fetched, cannot be, is too large, or is not what it should be, and for too many files.
 */
export const fetchFiles: FetchFiles = async (links, config) => {
  if (links.length > MOST_FILES) throw tooMany(links.length)
  const files = new Map<LinkedContent, BinaryContent>()
  let size = 0
  await inPool(links, {
    size: MOST_CONNECTIONS,
    groupOf: () => undefined,
    work: async (link) => {
      const file = await fetchFile(link, config)
      size += file.data.length
      if (size > MOST_CHARACTERS) throw unfetched(link.url, TOO_LARGE_TOGETHER)
      files.set(link, file)
    },
  })
  return files
}

async function fetchFile(
  { type, url, mediaType: givenType }: LinkedContent,
  { fileHosts, maxBodyBytes }: Parameters<FetchFiles>[1],
): Promise<BinaryContent> {
  if (!URL.canParse(url)) throw unfetched(url, 'its URL cannot be parsed')
  const response = await follow(new URL(url), fileHosts)
  const mediaType = (response.headers.get('content-type') ?? '').replace(/;.*/s, '').trim().toLowerCase()
  const fits = type === 'image' ? /^image\/(?!svg)/.test(mediaType) : mediaType !== '' && mediaType !== 'text/html'
  if (!fits) throw unfetched(url, `it is "${mediaType || 'of no type'}", and not the ${type} that it should be`)
  const bytes = await readBytes(response, maxBodyBytes)
  if (!bytes) throw unfetched(url, `it has more than ${maxBodyBytes} bytes (MAX_BODY_BYTES)`)
  const isKnown = /^[^/*]+\/[^/*]+$/.test(givenType) && givenType !== 'application/octet-stream'
  return { type, mediaType: type === 'file' && isKnown ? givenType : mediaType, data: toBase64(bytes) }
}

/** Fetches a URL. Redirects may lead to the same allowed hosts only. No credentials are sent. */
async function follow(url: URL, hosts: readonly string[]): Promise<Response> {
  const start = url.href
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    if (!isAllowed(url, hosts))
      throw unfetched(url.href, 'FILE_HOSTS does not allow its host; send the file as a data: URL')
    const request = { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) } as const
    const response = await fetch(url.href, request).catch(() => undefined)
    if (response?.ok) return response
    const location = response?.headers.get('location')
    await response?.body?.cancel()
    if (!response || !location || response.status < 300 || response.status > 399 || !URL.canParse(location, url.href))
      throw unfetched(start, response ? `its server answered ${response.status}` : 'its server did not answer')
    url = new URL(location, url)
  }
  throw unfetched(start, 'it is redirected too often')
}

function isAllowed({ protocol, hostname, host, username, password }: URL, hosts: readonly string[]): boolean {
  if (protocol !== 'https:' || username || password || isPrivate(hostname)) return false
  return hosts.includes(host) || (hosts.includes('*') && host === hostname)
}

/** Reads a body of at most `most` bytes; undefined if it has more. */
async function readBytes(response: Response, most: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > most) return undefined
    chunks.push(chunk)
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}

function tooMany(count: number): Problem {
  const message = `The request links to ${count} files that the edge would have to fetch; the most is ${MOST_FILES}.`
  return new Problem({ status: 400, code: 'file_not_fetched', message })
}

/**
 * Fetches files, the newest, and makes a text of each that is not fetched: it has the URL and the reason. A request that
 * sends its whole history would else be lost for good once one file of it has gone.
 */
async function fetchOrName(
  links: readonly LinkedContent[],
  fetchFiles: FetchFiles | undefined,
  config: Parameters<FetchFiles>[1],
): Promise<ReadonlyMap<LinkedContent, Content>> {
  const contents = new Map<LinkedContent, Content>(links.map((link) => [link, nameOf(link, OLD)]))
  let size = 0
  await inPool(links.slice(-MOST_FILES), {
    size: MOST_CONNECTIONS,
    groupOf: () => undefined,
    work: async (link) => {
      if (!fetchFiles) return void contents.set(link, nameOf(link, NO_FETCHING))
      if (size > MOST_CHARACTERS) return void contents.set(link, nameOf(link, TOO_LARGE_TOGETHER))
      try {
        const file = (await fetchFiles([link], config)).get(link)
        size += file?.data.length ?? 0
        const fits = file !== undefined && size <= MOST_CHARACTERS
        contents.set(link, fits ? file : nameOf(link, TOO_LARGE_TOGETHER))
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        contents.set(link, nameOf(link, error.details.message))
      }
    },
  })
  return contents
}

const OLD = `only the newest ${MOST_FILES} files are fetched`
const NO_FETCHING = 'this edge fetches no files; send the file as a data: URL'

function nameOf({ type, url }: LinkedContent, reason: string): TextContent {
  return { type: 'text', text: `[${type}: ${url}]\nNot shown: ${reason}` }
}

/**
 * Returns messages with the files in place of the links that the model's server does not follow by itself. A message with
 * links is marked as untrusted, unless the edge has `CALLER_DATA=trusted`. If the edge may not or cannot fetch a file, a
 * text names it with `namesFiles`; else it throws a Problem.
 */
export async function withFiles(
  messages: readonly Message[],
  { fetchFiles, config }: Pick<Setup, 'fetchFiles' | 'config'>,
  {
    capabilities,
    namesFiles = false,
  }: { capabilities?: ModelCapabilities | undefined; namesFiles?: boolean | undefined },
): Promise<readonly Message[]> {
  const isPassedOn = ({ type }: LinkedContent) => (type === 'image' ? capabilities?.imageUrls : capabilities?.fileUrls)
  const marks = config.callerData === 'untrusted' ? { marks: ['untrusted'] as const } : {}
  const marked = messages.map((message) => (linksIn(message).length > 0 ? { ...message, ...marks } : message))
  const links = messages.flatMap(linksIn).filter((link) => !isPassedOn(link))
  const [first] = links
  if (!first) return marked
  if (!fetchFiles && !namesFiles) throw unfetched(first.url, NO_FETCHING)
  const files =
    namesFiles || !fetchFiles ? await fetchOrName(links, fetchFiles, config) : await fetchFiles(links, config)
  return marked.map((message) => {
    if (message.role !== 'user' || typeof message.content === 'string') return message
    return { ...message, content: message.content.map((part) => ('url' in part && files.get(part)) || part) }
  })
}

function linksIn({ role, content }: Message): readonly LinkedContent[] {
  return role !== 'user' || typeof content === 'string' ? [] : content.filter((part) => 'url' in part)
}

/** Returns the Problem of a file that is not sent to the model. */
function unfetched(url: string, reason: string): Problem {
  const message = `The file ${url.slice(0, 200)} cannot be sent to this model: ${reason}.`
  return new Problem({ status: 400, code: 'file_not_fetched', message })
}
