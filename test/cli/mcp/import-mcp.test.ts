import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readClientConfig } from '../../../src/cli/mcp/client-config.ts'
import { readEntries, writeEntries } from '../../../src/cli/mcp/import-mcp.ts'
import { McpServer } from '../../tools/mcp-server.ts'
import { start } from '../command.ts'

const KEY = 'ghp_a-key-that-nobody-may-read'

describe('the configuration of an MCP client', () => {
  test('gives its servers, with names of secrets in place of what their headers hold', () => {
    const file = {
      mcpServers: {
        GitHub: { type: 'http', url: 'https://mcp.example.com/mcp', headers: { Authorization: `Bearer ${KEY}` } },
        'two keys': { url: 'https://two.example.com/mcp', headers: { 'X-Key': KEY, 'X-Team': 'a', Accept: 'b' } },
        bridged: {
          command: 'npx',
          args: ['-y', 'mcp-remote@latest', 'https://far.example.com/mcp', '--header', `X-Key: ${KEY}`],
        },
      },
    }
    const config = readClientConfig(JSON.stringify(file), 'config.json')
    expect(config).toEqual({
      servers: [
        {
          name: 'GitHub',
          url: 'https://mcp.example.com/mcp',
          headers: { Authorization: 'Bearer {SECRET_GITHUB}' },
        },
        {
          name: 'two-keys',
          url: 'https://two.example.com/mcp',
          headers: { 'X-Key': '{SECRET_TWO_KEYS_X_KEY}', 'X-Team': '{SECRET_TWO_KEYS_X_TEAM}', Accept: 'b' },
        },
        { name: 'bridged', url: 'https://far.example.com/mcp', headers: { 'X-Key': '{SECRET_BRIDGED}' } },
      ],
      skipped: [],
    })
    expect(JSON.stringify(config)).not.toContain(KEY)
  })

  test('of VS Code is read with comments, and what an edge cannot use is left out with the reason', () => {
    const text = `{
      // inputs are asked for by the editor
      "inputs": [],
      "servers": {
        "docs": { "type": "http", "url": "https://docs.example.com/mcp" },
        "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem"] },
        "old": { "type": "sse", "url": "https://old.example.com/sse" },
        "keyed": { "url": "https://keyed.example.com/mcp?api_key=${KEY}" },
        "inside": { "url": "http://10.0.0.7/mcp" },
        "odd": {},
      },
    }`
    const { servers, skipped } = readClientConfig(text, 'mcp.json')
    expect(servers).toEqual([{ name: 'docs', url: 'https://docs.example.com/mcp' }])
    expect(skipped).toEqual([
      { name: 'files', reason: 'It is a program on your machine (npx), which no Worker can start.' },
      { name: 'old', reason: 'It speaks HTTP+SSE, which MCP replaced; ask for its address for Streamable HTTP.' },
      { name: 'keyed', reason: 'Its address holds a key (api_key): send it in a header instead.' },
      { name: 'inside', reason: 'http://10.0.0.7 is not an https address on the standard port.' },
      { name: 'odd', reason: 'It has neither a `url` nor a `command`.' },
    ])
  })

  test.each([
    ['{', 'config.json is not JSON'],
    ['{"theme":"dark"}', 'config.json names no MCP servers.'],
    [
      '{"mcpServers":{"a b":{"url":"https://a.example.com"},"a-b":{"url":"https://b.example.com"}}}',
      'config.json has two servers that would be called "a-b".',
    ],
  ])('is refused: %s', (text, message) => {
    expect(() => readClientConfig(text, 'config.json')).toThrow(message)
  })
})

describe('the servers of the MCP Worker', () => {
  const docs = { name: 'docs', url: 'https://docs.example.com/mcp' }
  const written = `MCP_SERVERS = '''[\n  {"name":"docs","url":"https://docs.example.com/mcp"}\n]'''`

  test.each([
    [
      'an empty list',
      'name = "m"\n[vars]\n# the servers\nMCP_SERVERS = "[]"\nA = "1"\n',
      `name = "m"\n[vars]\n# the servers\n${written}\nA = "1"\n`,
    ],
    ['several lines', "[vars]\nMCP_SERVERS = '''\n[]\n'''\n", `[vars]\n${written}\n`],
    ['no list yet', '[vars]\nA = "1"\n', `[vars]\n${written}\nA = "1"\n`],
    ['no variables yet', 'name = "m"\n', `name = "m"\n\n[vars]\n${written}\n`],
  ])('are written into TOML with %s, and the rest stays', (_, before, after) => {
    expect(writeEntries('wrangler.toml', before, [docs])).toBe(after)
    expect(readEntries('wrangler.toml', after)).toEqual([docs])
  })

  test('are written into JSONC, and the rest stays', () => {
    const text = '{\n  // the servers\n  "vars": { "MCP_SERVERS": "[]", "A": "1" },\n}\n'
    const after = writeEntries('wrangler.jsonc', text, [docs])
    expect(after).toBe(text.replace('"[]"', JSON.stringify(JSON.stringify([docs]))))
    expect(readEntries('wrangler.jsonc', after)).toEqual([docs])
  })

  test('are not written where that would change something else', () => {
    const text = '{ "vars": { "A": "1" } }'
    expect(() => writeEntries('wrangler.json', text, [docs])).toThrow('could not be written into wrangler.json')
  })

  test('are refused if what is there is no list', () => {
    expect(() => readEntries('wrangler.toml', '[vars]\nMCP_SERVERS = "{"')).toThrow('is not a list in JSON')
  })
})

describe('edgecall import mcp', () => {
  /** A project whose MCP Worker, if it has one, is that of this repository. */
  function project({ hasWorker = true } = {}): string {
    const root = mkdtempSync(join(tmpdir(), 'edgecall-mcp-'))
    onTestFinished(() => rmSync(root, { recursive: true }))
    writeFileSync(join(root, 'wrangler.toml'), 'name = "my-edge"\n\n[[services]]\nbinding = "TOOL_A"\nservice = "a"\n')
    if (!hasWorker) return root
    mkdirSync(join(root, 'tools/mcp'), { recursive: true })
    const config = readFileSync('tools/mcp/wrangler.toml', 'utf8')
    const main = resolve('tools/mcp/index.ts')
    writeFileSync(join(root, 'tools/mcp/wrangler.toml'), config.replace('main = "index.ts"', `main = "${main}"`))
    return root
  }

  async function run(root: string, ...words: string[]): Promise<{ code: number | null; out: string; errors: string }> {
    const main = resolve('src/cli/main.ts')
    const command = start(process.execPath, [main, 'import', 'mcp', ...words], { cwd: root })
    onTestFinished(() => command.kill())
    const code = await command.ended
    return { code, out: command.out(), errors: command.errors() }
  }

  test('adds the servers of a file, binds the Worker, and lists their tools', async () => {
    const server = await new McpServer().listen()
    onTestFinished(() => server.close())
    server.tools = ['search', 'read'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } }))
    const root = project()
    const file = { mcpServers: { docs: { url: server.url }, local: { command: 'python3' } } }
    writeFileSync(join(root, 'mcp.json'), JSON.stringify(file))
    expect(await run(root, 'mcp.json')).toEqual({
      code: 0,
      out: `Left out local: It is a program on your machine (python3), which no Worker can start.
tools/mcp/wrangler.toml: docs is ${server.url}
wrangler.toml: TOOL_MCP is bound to edgecall-mcp
2 tools: search, read
`,
      errors: '',
    })
    expect(readFileSync(join(root, 'tools/mcp/wrangler.toml'), 'utf8')).toContain(
      `{"name":"docs","url":"${server.url}"}`,
    )
    expect(readFileSync(join(root, 'wrangler.toml'), 'utf8')).toContain('binding = "TOOL_MCP"')
    const repeat = await run(root, 'mcp.json', '--json')
    expect(JSON.parse(repeat.out)).toMatchObject({ servers: [], tools: ['search', 'read'] })
  })

  test('makes the Worker if there is none, and says where the key of a server belongs', async () => {
    const root = project({ hasWorker: false })
    const { code, out } = await run(root, 'https://mcp.example.com/mcp', '--key')
    expect([code, out.split('\n').slice(0, 4)]).toEqual([
      0,
      [
        'tools/mcp/wrangler.toml: example is https://mcp.example.com/mcp',
        'wrangler.toml: TOOL_MCP is bound to my-edge-mcp',
        'On your machine, put SECRET_EXAMPLE=… into tools/mcp/.dev.vars',
        'For a deployed edge: npx wrangler secret put SECRET_EXAMPLE -c tools/mcp/wrangler.toml',
      ],
    ])
    expect(out).toContain('Their tools could not be listed: ')
    expect(readFileSync(join(root, 'tools/mcp/index.ts'), 'utf8')).toContain("from 'edgecall/mcp'")
    expect(readFileSync(join(root, 'tools/mcp/wrangler.toml'), 'utf8')).toContain('Bearer {SECRET_EXAMPLE}')
  })

  test.each<[words: string[], message: string]>([
    [['missing.json'], 'There is no missing.json.'],
    [['http://mcp.example.com/mcp'], 'http://mcp.example.com is not an https address on the standard port.'],
    [['https://ada:secret@mcp.example.com/mcp'], 'Its address holds a key (a user name)'],
    [['https://mcp.example.com/mcp', '--name', 'no spaces'], '"no spaces" cannot be the name of a server.'],
    [['wrangler.toml', '--key'], '--name and --key are for an address'],
    [['wrangler.toml'], 'wrangler.toml is not JSON'],
  ])('refuses %j, and changes nothing', async (words, message) => {
    const root = project()
    const texts = () =>
      ['wrangler.toml', 'tools/mcp/wrangler.toml'].map((path) => readFileSync(join(root, path), 'utf8'))
    const before = texts()
    const { code, errors } = await run(root, ...words)
    expect([code, errors]).toEqual([1, expect.stringContaining(message)])
    expect(texts()).toEqual(before)
  })

  test('refuses a name that is another server’s', async () => {
    const root = project()
    const path = join(root, 'tools/mcp/wrangler.toml')
    const docs = [{ name: 'docs', url: 'https://one.example.com/mcp' }]
    writeFileSync(path, writeEntries(path, readFileSync(path, 'utf8'), docs))
    const { code, errors } = await run(root, 'https://two.example.com/mcp', '--name', 'docs')
    expect([code, errors]).toEqual([
      1,
      expect.stringContaining('has a server "docs" already, at https://one.example.com'),
    ])
  })
})
