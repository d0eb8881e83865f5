import { readFileSync } from 'node:fs'
import { readCatalogueTerms } from '../../src/host/stored/copy.ts'
import { NO_TEXTS, readTexts } from '../../src/host/stored/texts.ts'
import { keywordIndex } from '../../src/search/keyword-index.ts'
import { readTerms } from '../../src/search/stored-terms.ts'

/**
 * The first search of a process, over the value of KV in a file: an index, or texts if it is named `texts`. Prints the
 * processor time in milliseconds, and the heap in MB before and after.
 */
const [, , file = ''] = process.argv
const value = readFileSync(file, 'utf8')
globalThis.gc?.()
const before = process.memoryUsage().heapUsed
const start = process.threadCpuUsage()
const isIndex = !file.endsWith('texts')
const index = keywordIndex(isIndex ? readTerms(readCatalogueTerms(value).text) : undefined)
if (!isIndex) await index.add(readTexts(value, NO_TEXTS).tools)
const matches = await index.search('cancel the schedule of an order', 5)
if (matches.length === 0) throw new Error('nothing was found')
const { user, system } = process.threadCpuUsage(start)
globalThis.gc?.()
const heap = (process.memoryUsage().heapUsed - before) / 1e6
console.log(JSON.stringify({ cpuMs: (user + system) / 1000, heap }))
