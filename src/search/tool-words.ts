import type { Translate } from './keyword-index.ts'
import { chunksOf, FILLERS, isDense } from './keyword-terms.ts'

/**
 * Returns the English words that the words of a question may mean, a list for each meaning, the likeliest word first. Knows
 * common words of tools in Chinese, Japanese, Korean, Spanish, French, German, Portuguese and Russian. The words of a
 * question in English are none of them.
 *
 * @example toolSearch({ translate: toolWords })
 */
export function toolWords(question: string): ReturnType<Translate> {
  const { forms, english, longest } = (vocabulary ??= readTable(TABLE))
  const meanings = new Set<readonly string[]>()
  const note = (lists: readonly (readonly string[])[]) => lists.forEach((words) => meanings.add(words))
  const chunks = chunksOf(question).map((chunk) => chunk.toLowerCase())
  const englishCount = chunks.filter((chunk) => ENGLISH.has(chunk)).length
  // English may name a file or quote a text in another script.
  if (englishCount > chunks.filter((chunk) => !LATIN.test(chunk)).length) return []
  for (const chunk of chunks) {
    if (isDense(chunk)) {
      for (let at = 0; at < chunk.length;) {
        const form = longestForm(chunk, at)
        note(forms.get(form) ?? [])
        at += form.length || 1
      }
    } else if (!LATIN.test(chunk) || (englishCount === 0 && !english.has(chunk) && !FILLERS.has(chunk))) noteWord(chunk)
  }
  return [...meanings]

  function longestForm(chunk: string, at: number): string {
    for (let size = Math.min(longest, chunk.length - at); size > 0; size--) {
      const form = chunk.slice(at, at + size)
      if (forms.has(form)) return form
    }
    return ''
  }
  function noteWord(word: string): void {
    const lists = forms.get(`${word}.`) ?? forms.get(word)
    if (lists) return note(lists)
    for (let size = Math.min(longest, word.length - 1); size > 2; size--) {
      const lists = forms.get(word.slice(0, size))
      if (!lists) continue
      const rest = word.slice(size)
      if (rest.length <= LONGEST_ENDING) return note(lists)
      // The parts of a compound, as in German.
      const next = forms.get(rest) ?? forms.get(`${rest}.`) ?? forms.get(rest.replace(/^[sn]/, ''))
      if (next) return note([...lists, ...next])
    }
  }
}

/** The most characters that may follow a form of a language with endings. */
const LONGEST_ENDING = 5

const LATIN = /^[a-z\d]+$/

/** Words that only English has: where a question has one of them, its words in Latin letters are English. */
const ENGLISH: ReadonlySet<string> = new Set(
  (
    'the of and to is are be my your our its it you they what which how when where who why can could would should want need ' +
    'please help this that these those there with from have get give show find tell any some new into about if'
  ).split(' '),
)

interface Vocabulary {
  /** The English words of each form: one list for each line of the table that has it. */
  readonly forms: ReadonlyMap<string, readonly (readonly string[])[]>
  readonly english: ReadonlySet<string>
  /** The number of characters of the longest form. */
  readonly longest: number
}

let vocabulary: Vocabulary | undefined

function readTable(table: string): Vocabulary {
  const forms = new Map<string, (readonly string[])[]>()
  const english = new Set<string>()
  let longest = 0
  for (const line of table.trim().split('\n')) {
    const [meaning = '', texts = ''] = line.split(': ')
    const words = meaning.split(' ')
    for (const word of words) english.add(word).add(`${word}s`)
    for (const text of new Set(texts.split(' '))) {
      const form = chunksOf(text).join('').toLowerCase() + (text.endsWith('.') ? '.' : '')
      const lists = forms.get(form)
      if (!lists) forms.set(form, [words])
      else if (!lists.includes(words)) lists.push(words)
      longest = Math.max(longest, form.length)
    }
  }
  return { forms, english, longest }
}

/**
 * A meaning a line: its English words, then its forms in the eight languages. In languages with endings, a form is the beginning
 * of a word, or a whole word if a full stop follows it.
 */
const TABLE = `
create make generate add: 创建 新建 建立 制作 生成 作成 作って 作る 新規 만들 생성 작성 crear. crea. créer crée. erstell anleg criar. cria. созда
add insert append: 添加 增加 加入 新增 追加 추가 añadi añade. agreg ajout hinzufüg adicion добав
delete remove erase: 删除 删掉 移除 清除 删 削除 消して 消す 삭제 지워 지우 elimin borr. borra. borrar supprim effac lösch entfern excluir exclua. apagar apague удал стер
update modify edit change: 修改 更新 更改 变更 编辑 调整 改 変更 修正 編集 수정 변경 업데이트 편집 바꿔 바꾸 actuali modificar modifica. modifique. cambi mettre. mets. modifie. modifiez changer aktualis bearbeit änder atuali alter. alterar altere edite. измен обнов редактир
send deliver: 发送 发给 寄送 发 送信 送って 送る 보내 전송 발송 envia envía envie envoy. envoyer envoie send. sende. senden schick verschick отправ пошл
search find lookup: 搜索 查找 搜寻 检索 寻找 找 検索 探して 探す 검색 찾아 찾기 busca. busca buscar encuentra cherch recherch trouv such. suche. suchen find. finde. finden procurar procure. encontr найд найт поиск ищ
query get check lookup: 查询 查一下 查看 查 获取 得到 調べ 取得 確認 조회 알아봐 consultar consulta. consultez obten obtén obtien vérifier vérifiez vérifie. récupér abfrag abruf prüf überprüf verificar verifica. verificación verifique obter провер узна получ запрос
view show display read: 查看 显示 展示 浏览 看 表示 見せ 見る 보여 보기 표시 muestr mostr affich montr anzeig zeig exib покаж показ просмотр
read: 读取 阅读 读 読み 読んで 읽어 읽기 leer. lee. lire. lis. lesen lies. vorles ler. leia. прочит чита чтен
write: 写入 撰写 编写 写 書き 書いて 書く 쓰기 써줘 작성 escrib écri schreib schreiben escrev напис напиш запис пиш
open launch start: 打开 开启 启动 运行中 開いて 開く 起動 열어 열기 실행 abr. abre. abrir ouvr öffn откр запуст
close shut: 关闭 关掉 閉じ 닫아 닫기 cerra cierra ferm schließ schliess fech закр
start begin run: 开始 启动 运行 开 始め 開始 시작 inici comenz empez démarr commenc start. starte. starten beginnen beginne. começ inicie начат начн
stop end cancel: 停止 结束 终止 止めて 終了 중지 멈춰 종료 deten parar. arrêt stoppen stoppe. beend останов
run execute: 执行 运行 実行 실행 ejecut exécuter ausführ executar execute. выполн
cancel: 取消 撤销 キャンセル 取り消 취소 cancelar cancela. annuler annulez annulier stornier absag cancele. отмен
save store: 保存 存储 存到 保存して 저장 guarda. guarda enregistr sauvegard speicher salv. salvar guarde сохран
copy duplicate: 复制 拷贝 コピー 複製 복사 copia. copier copie. kopier copiar скопир копир
move: 移动 移到 転移 移動 이동 옮겨 옮기 mover. mueve déplac verschieb mova. перемест перенес
rename: 重命名 改名 名前を変更 이름변경 이름을 renombr renomm umbenenn benenn renome переимен
download: 下载 ダウンロード 다운로드 descarga descarg télécharg herunterlad baix. baixar baixe скача загруз
upload: 上传 アップロード 업로드 올려 subir. sube. téléverser hochlad enviar carreg загруз
import: 导入 インポート 가져오 importier импорт
export: 导出 エクスポート 내보내 exportier экспорт
share: 分享 共享 共有 シェア 공유 compart partag teil. teile. teilen freigeb поделит подел
print: 打印 印刷 인쇄 프린트 imprim druck ausdruck печат
sort order rank: 排序 排列 排名 並べ替え 並び替え 정렬 ordena trier. trie. sortier классиф сортир
filter: 筛选 过滤 絞り込 フィルタ 필터 filtr filtern фильтр
merge combine join: 合并 拼接 结合 結合 統合 병합 합쳐 합치 combinar combiner combina. fusion unir. kombin zusammenführ mescl juntar объедин
split divide: 拆分 分割 分開 分割して 나눠 나누 분할 dividir divide. séparer aufteil teil раздел
compare: 比较 对比 比較 비교 compara. comparar comparer comparez vergleich сравн
calculate compute: 计算 运算 算 計算 계산 calcular calcula. calculer calculez berechn rechn вычисл рассчит посчит
convert transform: 转换 转化 换算 转成 変換 변환 바꿔 convertir convertis. convierte convirtiendo umrechn umwandl konvert converta. конверт преобраз перевед
analyze analysis: 分析 解析 분석 analiz analys análise анализ
count number: 统计 计数 数量 个数 数える 件数 개수 세어 cuenta. cantidad compt nombre. zähl anzahl conta. quantidade колич подсч
statistics statistic: 统计 統計 통계 estadísti statistiq statisti estatísti статисти
list: 列出 列表 清单 名单 一覧 リスト 목록 리스트 나열 lista. listado listar liste. auflist список перечисл
detail information info: 详情 详细 信息 资料 詳細 情報 정보 상세 informaci detalle renseignement informationen einzelheit detalh informaç информац подробн сведен
translate translation: 翻译 译成 翻訳 訳して 번역 traduc tradui traduz übersetz перевод перевед перевест
summarize summary: 总结 摘要 概括 归纳 要約 まとめ 요약 resumir resumen resumo. résumer. zusammenfass kurzfass обобщ резюм изложен
explain: 解释 说明 説明 설명 explicar explica. explique. expliq erklär объясн
recommend recommendation suggest: 推荐 建议 おすすめ お勧め 推薦 추천 recomend recommand conseil empfehl empfiehl vorschl sugir рекоменд посовет
plan: 计划 规划 方案 計画 プラン 계획 planific planen планир
set configure setting: 设置 设定 配置 設定 설정 configurar configura. configurez ajusta réglag régl. einstell konfigur настро установ
reset: 重置 リセット 초기화 재설정 restablec réinitialis zurücksetz redefin сброс
enable activate: 启用 激活 有効 활성화 activa activ. activer aktivier ative. ativar включ
disable deactivate: 禁用 停用 無効 비활성 desactiv désactiv deaktiv отключ выключ
turn switch: 打开 关闭 开关 つけて 消して 켜줘 켜기 꺼줘 끄기 enciend apag. apaga allum étein einschalt ausschalt ligar. ligue desligu включи выключи
connect link: 连接 链接 接続 연결 conect connect. connecter verbind conexão подключ соедин
install: 安装 インストール 설치 instala installier установ
test: 测试 テスト 테스트 시험 prueba. pruebas probar. tester. testen teste. тест
check verify validate: 检查 验证 校验 核实 核对 確認 検証 확인 검증 comprob verificar verifica. verificación verifique vérifier vérifiez vérifie. überprüf prüf validar validez valide. проверк провер
monitor track: 监控 监测 监视 跟踪 追踪 監視 追跡 모니터 추적 rastre suivre. suivi. überwach verfolg monitor отслед следи
notify notification: 通知 提醒 お知らせ 알림 알려줘 notific avis benachrichtig уведом
subscribe subscription: 订阅 購読 登録 구독 suscri abonn abonnier assin подпис
register signup: 注册 登记 報名 登録 가입 등록 registrar registra. registre. inscri anmeld зарегистр регистр
apply application: 申请 报名 申し込 申請 신청 solicit candidat demande. bewerb beantrag заявк подать
submit: 提交 递交 提出 제출 soumett einreich submet представ
approve approval: 批准 审批 审核 承認 승인 aprob approuv genehmig aprov одобр
book reserve reservation booking: 预订 预定 预约 订 予約 예약 reservar reserva. reservas. réserver. réserve. réservez réservation. buch. buche. buchen reservier заброн брон
order: 订单 下单 订购 点餐 注文 주문 pedido. pedidos pedir. commande commander bestell encomend заказ
buy purchase: 购买 采购 买 購入 買う 買い 구매 구입 사고 comprar. compra. compra achet kauf einkauf comprar compre. покуп купит
sell sale: 出售 销售 卖 販売 売る 売り 판매 팔아 vend. vende. vender vendr vente. ventes verkauf venda. прода
pay payment: 支付 付款 缴费 交费 支払 払い 決済 결제 지불 납부 pagar. pago. pagos paga. payer. paiement paie. bezahl zahl zahlung pagamento оплат платеж заплат
refund return: 退款 退货 返金 返品 환불 반품 reembols rembours rückerstatt erstatt возврат верн
price cost: 价格 价钱 多少钱 费用 値段 価格 料金 가격 비용 요금 얼마 precio. precios. coste. costo prix. coût preis kosten preço цен стоим сколько
discount coupon: 折扣 优惠券 优惠 打折 割引 クーポン 할인 쿠폰 descuento réduction rabatt gutschein desconto скидк купон
product item goods: 产品 商品 货物 製品 제품 상품 producto. productos produit produkt artikel. produto товар продукт
cart basket: 购物车 カート 장바구니 carrito. panier warenkorb carrinho корзин
shopping shop store: 购物 商店 店铺 买东西 買い物 店 쇼핑 가게 매장 tienda magasin boutique laden. geschäft loja магазин
shipping delivery logistics package: 物流 快递 包裹 配送 发货 荷物 宅配 배송 택배 소포 paquete entrega. envíos livraison colis liefer paket. sendung encomenda доставк посылк
inventory stock: 库存 在庫 재고 inventario. inventaire lagerbestand bestand estoque запас склад
supplier vendor: 供应商 仕入先 공급업체 proveedor fournisseur lieferant fornecedor поставщик
customer client: 客户 顾客 客人 顧客 お客様 고객 cliente. clientes kunde kunden клиент покупател
invoice bill receipt: 发票 账单 收据 請求書 領収書 송장 청구서 영수증 factura. facturas facture. factures rechnung quittung fatura. faturas счет. счета. квитанц
bank account: 银行 銀行 은행 banco. bancaria banque bankkonto konto. банк
transfer remit: 转账 汇款 转 振込 送金 이체 송금 transferir transferencia transfiere virement überweis transferência перевод перечисл перевед перевест
balance: 余额 残高 잔액 saldo solde. kontostand guthaben остаток баланс
loan credit: 贷款 借款 信用 ローン 融資 대출 préstamo prêt. kredit darlehen empréstimo кредит займ
mortgage: 房贷 抵押 住宅ローン 주택담보 hipotec hypothèque hypothek ипотек
insurance: 保险 保険 보험 seguro. seguros assurance versicherung страхов
tax: 税 税收 纳税 税金 세금 impuesto impôt. impôts steuer. steuern imposto налог
stock share equity: 股票 股价 股市 株 株価 주식 주가 acción. acciones bourse. aktie aktien börse ação. ações акци бирж
fund: 基金 ファンド 펀드 fondo. fondos fonds. fundo фонд
invest investment portfolio: 投资 理财 投資 투자 invers invertir investiss investier anlage. инвест
currency exchange: 货币 汇率 外汇 兑换 通貨 為替 両替 환율 환전 통화 moneda divisa tipo. cambio. devise. monnaie change. taux. währung wechselkurs umtausch moeda câmbio валют курс обмен
money cash: 钱 现金 金额 お金 現金 돈 현금 금액 dinero efectivo argent. espèces geld betrag dinheiro деньг сумм
interest rate: 利率 利息 金利 利子 이자 금리 interés intérêt zins. zinsen juros процент ставк
income salary wage: 收入 工资 薪水 给与 給料 収入 급여 월급 소득 수입 salario ingreso salaire revenu gehalt lohn. einkommen salário зарплат доход
expense spending cost: 支出 开支 花费 费用 報销 経費 지출 경비 gasto. gastos dépense ausgabe. ausgaben despesa расход
budget: 预算 予算 예산 presupuest haushaltsplan orçament бюджет
financial finance: 财务 金融 财经 財務 재무 금융 finanzas financier. finanz finanç финанс
file: 文件 档案 ファイル 파일 archivo. archivos fichier datei dateien arquivo. arquivos файл
folder directory: 文件夹 目录 フォルダ ディレクトリ 폴더 디렉터리 carpeta dossier. dossiers ordner verzeichnis pasta. pastas папк каталог
document: 文档 文書 書類 ドキュメント 문서 dokument документ
report: 报告 报表 レポート 報告 보고서 보고 informe. informes rapport. rapports bericht relatóri отчет доклад
table spreadsheet sheet: 表格 电子表格 表 スプレッドシート 표 스프레드시트 엑셀 tabla. tablas hoja. tableau. feuille. tabelle planilha tabela. таблиц
row column: 行 列 행 열 fila. columna ligne. colonne zeile spalte linha. coluna строк столб
cell: 单元格 セル 셀 celda. cellule zelle célula ячейк
chart graph plot: 图表 曲线图 柱状图 饼图 グラフ チャート 차트 그래프 gráfic graphique diagramm график диаграмм
presentation slide: 幻灯片 演示文稿 演示 スライド プレゼン 발표 슬라이드 presentación diapositiva présentation diaporama präsentation folie. apresentaç презентац слайд
template: 模板 テンプレート 템플릿 서식 plantilla modèle. modèles vorlage. vorlagen modelo. шаблон
format: 格式 排版 フォーマット 形式 형식 서식 formato. mise. formatier формат
note memo: 笔记 便签 备忘 记录 メモ ノート 메모 노트 nota. notas anota. anotar anote. notiz notizen замет
text content: 文本 文字 内容 テキスト 文章 내용 텍스트 texto. contenido texte. contenu inhalt conteúdo текст содерж
title heading: 标题 题目 タイトル 見出し 제목 título titre. überschrift заголов назван
page: 页面 页 网页 ページ 페이지 página seite. seiten страниц
keyword tag label: 关键词 标签 关键字 キーワード タグ 키워드 태그 etiqueta palabra. mot. étiquette schlagwort stichwort palavra. ключев метк тег
email mail message: 邮件 电子邮件 邮箱 メール 메일 이메일 correo. correos courriel e-mail. nachricht письм почт
message sms chat: 消息 短信 信息 讯息 メッセージ ショートメール 메시지 문자 mensaje mensagem nachricht сообщен
contact address: 联系人 通讯录 联系 連絡先 연락처 contacto contato kontakt контакт
phone call telephone: 电话 打电话 手机 电話 電話 携帯 전화 통화 teléfono llamada llama. llamar téléphone appel. appeler appelle. telefon anruf anrufen telefone ligação телефон позвон звон
attachment: 附件 添付 첨부 adjunt jointe. anhang anhäng anexo вложен
reply answer respond: 回复 回答 答复 返信 답장 답변 responder. responde. respuesta répond antwort respost ответ
forward: 转发 転送 전달 reenví réexpéd transférer weiterleit encaminh пересл
group: 群 群组 分组 小组 グループ 그룹 grupo. groupe. gruppe групп
calendar schedule: 日历 日程 行程 カレンダー 予定 スケジュール 캘린더 달력 일정 calendario calendrier kalender calendário календар расписан
event: 事件 活动 活動 イベント 행사 이벤트 evento. eventos événement veranstaltung событ мероприят
meeting conference: 会议 开会 会議 打ち合わせ ミーティング 회의 미팅 reunión reuniones réunion besprechung sitzung. treffen reunião совещан встреч собран
appointment: 预约 约会 予約 アポ 약속 진료예약 cita. citas rendez. termine consulta. запис прием
reminder remind: 提醒 备忘 リマインダー 思い出 리마인더 알림 recordator recuérda recordar rappel. rappels rappelle erinner lembr напом
alarm clock: 闹钟 闹铃 叫醒 アラーム 目覚まし 알람 alarma. despertador réveil wecker weck. wecke будильник разбуд
timer countdown: 计时器 倒计时 定时 タイマー 타이머 temporizador minuteur minuterie timer. cronômetro таймер
time: 时间 几点 时刻 時間 時刻 何時 시간 몇시 hora. horas heure. heures uhrzeit uhr. horário время час
timezone: 时区 タイムゾーン 時差 시간대 시차 huso. fuseau zeitzone fuso. часов
date day: 日期 几号 日付 날짜 fecha. fechas datum. дата. дату.
task todo: 任务 待办 タスク やること 할일 작업 과제 tarea tâche aufgabe tarefa задач задан
project: 项目 工程 プロジェクト 案件 프로젝트 proyecto projet. projekt projeto проект
progress status: 进度 进展 状态 状況 進捗 ステータス 상태 진행 estado. progreso état. statut avancement fortschritt andamento статус состоян прогресс
priority: 优先级 優先 우선순위 prioridad priorité priorität prioridade приорит
history record log: 历史 记录 日志 履歴 記録 ログ 기록 이력 로그 historial registro. historique verlauf protokoll histórico истори журнал
weather forecast: 天气 气象 预报 天気 気象 予報 날씨 예보 clima. tiempo. pronóstico météo wetter vorhersage previsão погод прогноз
temperature: 温度 气温 気温 온도 기온 temperatura température temperatur температур
rain snow: 下雨 下雪 雨 雪 비가 눈이 lluvia pluie. regen. neige. schnee chuva дожд снег
air quality pollution: 空气 空气质量 污染 大気 空気 미세먼지 공기질 aire. contamin qualité luftqualität luft. qualidade воздух
humidity: 湿度 습도 humedad humidité feuchtigkeit umidade влажн
travel trip tour: 旅行 旅游 出游 出差 出張 여행 출장 viaje. viajes viajar voyage reise reisen viagem путешеств поездк
itinerary: 行程 路线 旅程 일정 itinerario itinéraire reiseplan roteiro маршрут
flight plane airline: 航班 飞机 机票 航空 飛行機 航空券 フライト 항공 비행기 항공권 vuelo. vuelos avión vol. vols avion. flug flüge flugzeug voo. voos avião рейс самолет авиа
train railway: 火车 列车 高铁 动车 车票 火车票 電車 列車 新幹線 기차 열차 tren. trenes zug. züge bahn. trem. поезд
bus transit: 公交 巴士 公交车 バス 버스 autobús bus. autobus. ônibus автобус
subway metro: 地铁 地下鉄 지하철 U-Bahn. metrô метро
taxi ride: 出租车 打车 タクシー 택시 такси
ticket: 票 门票 车票 机票 チケット 切符 航空券 표를 티켓 항공권 입장권 billete boleto entrada. entradas billet fahrkart ticket. karten. bilhete ingresso билет
hotel accommodation room: 酒店 宾馆 住宿 旅馆 ホテル 宿泊 旅館 호텔 숙소 숙박 alojamiento hébergement chambre unterkunft zimmer hospedagem отел гостиниц
car vehicle: 汽车 车辆 车 自動車 車 자동차 차량 coche. carro. vehículo voiture véhicule autos wagen fahrzeug veículo машин автомоб
rent rental lease: 租 租车 租房 租赁 レンタル 借りる 賃貸 렌트 임대 대여 alquil louer. location. miet alug аренд прокат
parking: 停车 停车场 駐車 주차 aparcamiento estacionamiento parkplatz парков стоянк
traffic: 交通 路况 堵车 渋滞 교통 tráfico circulation. verkehr stau. trânsito пробк движен
map location: 地图 位置 地点 定位 地図 場所 지도 위치 장소 mapa. mapas ubicación carte. lieu. emplacement karte. standort ort. localização lugar. карт местополож
route direction navigation: 路线 导航 怎么走 方向 ルート 経路 道順 경로 길찾기 ruta. rutas camino itinéraire trajet route. weg. navig rota. rotas caminho маршрут дорог проехат
distance: 距离 多远 距離 거리 distancia. entfernung distância расстоян
nearby near: 附近 周边 近く 周辺 근처 주변 cerca. cercano proche. près. nähe. perto. рядом поблизост ближайш
address: 地址 住所 アドレス 주소 dirección adresse. endereço адрес
city: 城市 市 都市 도시 ciudad ville. stadt. städte cidade город
country: 国家 国 나라 국가 país pays. länder стран
tourist attraction sight: 景点 景区 名胜 観光 名所 관광 명소 turíst atracci touristiq sehenswürd atraç достоприм
visa passport: 签证 护照 ビザ パスポート 비자 여권 pasaporte visado passeport visum reisepass passaporte виз паспорт
restaurant food dining: 餐厅 饭店 美食 餐馆 レストラン 食堂 식당 맛집 음식점 comida. comer. manger. essen. comida ресторан кафе
food meal dish: 食物 菜 餐 外卖 食べ物 料理 食事 음식 식사 요리 alimento plato. nourriture plat. repas speise mahlzeit comida. prato. еда. блюд пищ
recipe cooking: 食谱 菜谱 做法 烹饪 レシピ 料理 레시피 요리법 receta recette rezept kochen receita рецепт приготов
ingredient: 食材 配料 材料 재료 ingrediente zutat ингредиент
nutrition calorie diet: 营养 卡路里 热量 饮食 栄養 カロリー 영양 칼로리 식단 nutrici caloría régime ernährung kalorie nutriç dieta. питан калор диет
health medical: 健康 医疗 体检 医療 건강 의료 salud. santé gesundheit saúde здоров медицин
doctor hospital clinic: 医生 医院 看病 挂号 医師 病院 医者 의사 병원 médico hospital. médecin hôpital arzt ärzt krankenhaus врач больниц доктор
medicine drug medication: 药 药品 药物 薬 약을 약품 medicamento medicina. médicament medikament arznei remédio лекарств
disease symptom: 疾病 症状 病 病気 질병 증상 enfermedad síntoma maladie symptôme krankheit symptom doença sintoma болезн симптом
exercise fitness workout: 运动 健身 锻炼 運動 トレーニング 운동 헬스 ejercicio entrena exercice. entraîn übung. training. exercício treino тренир упражнен
sleep: 睡眠 睡 수면 잠 dormir. sueño sommeil schlaf sono. сон. сна.
heart blood: 心率 血压 心跳 心拍 血圧 심박 혈압 corazón presión cœur tension. herz blutdruck coração pressão пульс давлен
image picture photo: 图片 图像 照片 图 画像 写真 이미지 사진 그림 imagen imágenes foto. fotos photo. bild. bilder imagem imagens изображен картин фото
draw paint: 画 绘制 绘画 描いて 描く 絵 그려 그리 dibuj pint. dessin zeichn mal. desenh рису
video movie film: 视频 电影 影片 動画 映画 ビデオ 동영상 비디오 영화 película vídeo vidéo film. filme. видео фильм
music song: 音乐 歌曲 歌 音楽 曲 음악 노래 música canción canciones musique chanson musik lied. lieder canção музык песн
audio sound voice speech: 音频 声音 语音 音声 声 음성 소리 오디오 audio. sonido voz. voix. son. ton. stimme sprach. som. аудио звук голос реч
play: 播放 玩 再生 재생 틀어 reproduc. reproducir lire. jou. jouer joue. abspiel spiel. spiele tocar reproduz воспроизв включи сыгра
record recording: 录音 录制 录像 録音 録画 녹음 녹화 grab. grabar grabación enregistr aufnahm aufzeichn grava запис
volume: 音量 ボリューム 볼륨 음량 volumen lautstärke громк
news article: 新闻 资讯 文章 ニュース 記事 뉴스 기사 noticia actualités nouvelles. artículo nachrichten notícia новост стат
book novel library: 书 书籍 图书 小说 本 書籍 小説 図書 책을 도서 소설 libro. libros livre. livres buch. bücher livro книг библиот
game: 游戏 比赛 ゲーム 試合 게임 경기 juego partido. jeu. jeux spiel spiele jogo. игр матч
sport match score: 体育 赛事 比分 足球 篮球 スポーツ 試合 サッカー 스포츠 축구 deporte fútbol sport. fußball esporte futebol спорт футбол
joke story: 笑话 故事 冗談 物語 농담 이야기 chiste cuento blague histoire. witz geschichte piada história шутк анекдот рассказ
user member: 用户 会员 成员 ユーザー 会員 사용자 회원 usuario utilisateur membre. benutzer nutzer mitglied usuário пользовател участник
account: 账户 账号 帐户 帐号 アカウント 口座 계정 계좌 cuenta. cuentas compte. comptes konto konten conta. contas аккаунт учетн счет
password: 密码 口令 パスワード 暗証 비밀번호 contraseña passe. passwort kennwort senha парол
login signin: 登录 登陆 ログイン 로그인 sesión connexion. anmelden einlogg entrar. войти вход
permission role access: 权限 角色 访问 権限 アクセス 권한 접근 permiso acceso autorisation accès. berechtigung zugriff permissão acesso. разрешен доступ прав
profile personal: 个人 资料 档案 プロフィール 个人信息 프로필 개인 perfil. profil. профил личн
friend follow: 好友 朋友 关注 友達 フォロー 친구 팔로우 amigo. amigos ami. amis. freund друг друз
comment review feedback: 评论 评价 反馈 点评 コメント レビュー 口コミ 댓글 리뷰 의견 comentario reseña opinión commentaire avis. kommentar bewertung rückmeldung comentário avaliação комментар отзыв
post publish social: 发布 发表 帖子 朋友圈 微博 投稿 公開 게시 올려 발행 publica. publicar publica publier publie. veröffentlich poste. postar опублик публик пост
rating score grade: 评分 打分 成绩 分数 評価 点数 成績 평점 점수 성적 calific puntuaci note. notes. note noten bewert pontuaç оценк балл
code program programming: 代码 编程 程序 コード プログラム 코드 프로그램 código programa. programme. quellcode programm код. кода. программ
bug error issue: 错误 漏洞 故障 问题 バグ エラー 不具合 버그 오류 에러 fallo. erreur. erreurs bogue fehler problem. erro. erros falha ошибк баг
debug fix repair: 调试 修复 维修 修理 修正 수리 고쳐 수정 repar arregl corrig répar reparier beheb consert исправ почин ремонт
develop development build: 开发 构建 研发 開発 構築 개발 구축 desarroll développ entwickl desenvolv разраб
deploy release: 部署 发布 上线 デプロイ リリース 배포 출시 desplieg despleg déploi bereitstell implant разверн релиз
repository commit branch: 仓库 提交 分支 リポジトリ ブランチ コミット 저장소 커밋 브랜치 repositorio rama. dépôt branche. zweig repositório ramo. репозитор ветк коммит
server host: 服务器 主机 サーバ ホスト 서버 호스트 servidor serveur rechner сервер хост
database: 数据库 データベース 데이터베이스 datenbank banco. баз
data dataset: 数据 データ 데이터 자료 datos. donnée daten. dados данн
system: 系统 システム 시스템 sistema. système систем
device equipment: 设备 仪器 装置 機器 デバイス 설비 기기 장치 dispositivo equipo. appareil gerät equipamento устройств оборудован
computer: 电脑 计算机 パソコン コンピュータ 컴퓨터 ordenador computadora ordinateur computador. компьютер
network internet: 网络 联网 ネットワーク ネット 네트워크 인터넷 réseau netzwerk netz. rede. сет. сети. сеть интернет
website url web: 网站 网址 网页 ウェブサイト サイト 웹사이트 홈페이지 sitio. webseite сайт
domain dns: 域名 ドメイン 도메인 dominio domaine. domäne domínio домен
security safe: 安全 セキュリティ 보안 안전 seguridad sécurité sicherheit segurança безопасн
encrypt encryption: 加密 暗号化 암호화 cifra. encript chiffr verschlüssel criptograf шифр
decrypt: 解密 復号 복호화 descifr déchiffr entschlüssel descriptograf расшифр
compress zip archive: 压缩 打包 圧縮 압축 comprim. comprim compress. komprim архив сжат
extract: 提取 抽取 解压 抽出 추출 extrae extraer extrai. extrair extrahier извле
backup restore: 备份 恢复 还原 バックアップ 復元 백업 복원 복구 respald restaur sauvegard sicher. wiederherstell восстанов резервн
clean clear: 清理 清空 打扫 清洁 掃除 クリア 청소 정리 limpi nettoy vider. reinig aufräum leeren limp. очист убра
recognize recognition identify detect: 识别 检测 辨认 認識 検出 인식 감지 식별 reconoc identificar identifica. detectar reconnaî reconnais détecter erkenn reconhec распозн определ
classify classification category type: 分类 类别 类型 種類 分類 분류 종류 유형 clasific categoría classer. classif catégorie kategor klassifiz art. тип. категор классиф вид
sentiment emotion: 情感 情绪 感情 감정 감성 sentimiento emoción sentiment. émotion stimmung gefühl emoç эмоц настроен
predict prediction forecast: 预测 予測 예측 predecir pronostic prédi prévision prognos vorhersag previs предсказ прогноз
model: 模型 モデル 모델 modelo. modèle. modell модел
train training learn: 训练 培训 学习 研修 学習 訓練 훈련 교육 학습 entrena aprend formation. appren lernen. schulung ausbildung treina обуч учеб
question problem: 问题 题 题目 質問 問題 질문 문제 pregunt frage. fragen pergunt вопрос
language: 语言 言語 언어 idioma. lengua langue. sprache. sprachen язык
english: 英语 英文 英語 영어 inglés anglais. englisch inglês английск
chinese: 中文 汉语 中国語 중국어 chino. chinois. chinesisch chinês китайск
word vocabulary dictionary definition: 单词 词汇 词典 字典 定义 単語 辞書 意味 단어 사전 palabra. palabras diccion mot. mots. dictionnaire wort. wörter wörterbuch palavra dicion слов словар значен
grammar spelling: 语法 拼写 文法 スペル 문법 맞춤법 gramátic ortograf grammaire orthograph grammatik rechtschreib грамматик орфограф
course class lesson: 课程 课 上课 授業 コース 講座 수업 강의 강좌 curso. clase. clases cours. leçon kurs. kurse unterricht aula. aulas курс урок заняти
student: 学生 学员 生徒 학생 estudiante alumno. étudiant élève. schüler student. aluno. estudante студент учен
teacher: 老师 教师 先生 教師 선생님 교사 profesor enseignant professeur. lehrer professor. учител преподават
school university education: 学校 大学 教育 학교 대학 교육 escuela universidad école université schule. universität hochschule escola universidade школ университет образован
exam quiz: 考试 测验 試験 시험 examen. prueba prüfung klausur prova. экзамен
homework study: 作业 学习 宿題 勉強 숙제 공부 deberes. estudi devoirs. étudi hausaufgabe studier lição домашн учить
paper research academic literature: 论文 研究 文献 学术 論文 学術 논문 연구 학술 investigaci recherche. forschung wissenschaft pesquis научн исследован
employee staff: 员工 职员 人员 社員 従業員 직원 사원 empleado employé mitarbeiter angestellte funcionário сотрудник работник
job position work: 工作 职位 岗位 求职 仕事 求人 직업 일자리 채용 empleo trabajo emploi travail arbeit stelle. emprego trabalho работ ваканс
recruit hire candidate: 招聘 应聘 候选人 採用 候補 채용 지원자 contrat recrut embauch einstell. bewerber нанят кандидат
resume cv: 简历 履历 履歴書 이력서 currículum lebenslauf currículo резюме
interview: 面试 采访 面接 면접 인터뷰 entrevist entretien. vorstellungsgespräch собеседован интервью
attendance leave vacation: 考勤 请假 休假 打卡 出勤 休暇 勤怠 출근 휴가 vacacion congé vacances urlaub. férias отпуск
company business enterprise: 公司 企业 商业 会社 企業 회사 기업 empresa. empresas entreprise. société. firma. unternehmen компани предприят фирм
department team: 部门 团队 部署 チーム 부서 팀 departamento equipo département équipe abteilung equipe. отдел команд
market marketing: 市场 营销 推广 市場 マーケティング 시장 마케팅 mercado marché. markt. рын. рынок маркетинг
advertisement campaign: 广告 宣传 広告 광고 anuncio publicidad publicité werbung anzeige. anúncio publicidade реклам
contract agreement: 合同 协议 契约 契約 계약 contrato. contrat. vertrag договор контракт
law legal: 法律 法规 律师 诉讼 弁護士 법률 변호사 legal. abogado droit. loi. avocat recht. gesetz anwalt advogado закон юрист право
vote survey poll: 投票 调查 问卷 アンケート 투표 설문 encuesta votar. sondage voter. umfrage abstimm enquete pesquisa. опрос голосован
policy rule: 政策 规则 规定 規則 ルール 정책 규칙 política. regla. règle. politique. regel. richtlinie regra. политик правил
house property estate: 房屋 房子 房产 房源 家 住宅 不動産 집을 주택 부동산 casa. vivienda inmueble maison. immobili logement haus. wohnung immobilie imóvel квартир недвижим
home smart: 家居 智能 家里 スマートホーム 집 스마트홈 hogar. domotiq zuhause smart. casa дом дома.
light lamp brightness: 灯 灯光 亮度 电灯 電気 照明 ライト 조명 불을 luz. luces lámpara lumière. lampe. licht. lâmpada свет ламп яркост
air conditioner heating: 空调 暖气 エアコン 暖房 에어컨 난방 climatis chauffage klimaanlage heizung кондиционер отоплен
door lock: 门 锁 门锁 ドア 鍵 문을 잠금 puerta cerradura porte. serrure tür. türen schloss porta. двер замок
camera: 相机 摄像头 摄像 カメラ 카메라 cámara caméra kamera câmera камер
window curtain: 窗户 窗帘 窗口 カーテン 窓 커튼 창문 ventana cortina fenêtre rideau fenster vorhang janela окно штор
battery power energy: 电池 电量 电力 能源 バッテリー 電力 배터리 전력 에너지 batería energía batterie. énergie akku strom. energie energia. батаре энерги
robot assistant: 机器人 助手 ロボット アシスタント 로봇 비서 asistente assistant. roboter assistent assistente робот помощник
id number: 编号 号码 序号 番号 번호 número numéro nummer. номер
name: 名字 姓名 名称 名前 氏名 이름 명칭 nombre. nom. namen. nome. имя. имени
gender age: 性别 年龄 性別 年齢 성별 나이 edad. género âge. sexe. alter. geschlecht idade. возраст пол.
birthday anniversary: 生日 纪念日 誕生日 생일 cumpleaños anniversaire geburtstag aniversário рожден
gift: 礼物 礼品 プレゼント 贈り物 선물 regalo. cadeau geschenk presente. подарок подарк
holiday festival: 节日 假期 放假 祝日 休日 공휴일 휴일 festivo. fériée férié feiertag feriado праздник
year month week: 年 月 周 星期 本月 今年 년 월 주 año. mes. semana année mois. semaine jahr. monat. woche. ano. mês. год. месяц недел
random: 随机 ランダム 무작위 랜덤 aleator aléatoire zufall zufällig aleatór случайн
math equation formula: 数学 公式 方程 数式 수학 방정식 공식 matemátic ecuación mathématiq équation mathe. gleichung formel matemática математ уравнен формул
unit measurement: 单位 単位 단위 unidad unité. einheit единиц
length weight height size: 长度 重量 身高 体重 大小 尺寸 長さ 重さ 身長 길이 무게 키 크기 peso. altura. longitud. tamaño poids. taille. longueur gewicht größe. länge tamanho вес рост длин размер
area volume capacity: 面积 体积 容量 面積 体積 면적 부피 용량 área superficie fläche площад объем
average sum total: 平均 总和 总数 合计 求和 合計 평균 합계 총 promedio suma. moyenne somme. durchschnitt summe. soma. средн сумм
maximum minimum: 最大 最小 最高 最低 最大値 최대 최소 máximo mínimo höchst niedrigst максим миним
color colour: 颜色 色彩 色 색상 색 color. couleur farbe. farben цвет
background: 背景 배경 fondo. arrière. hintergrund fundo. фон
font style: 字体 样式 风格 フォント スタイル 글꼴 스타일 fuente. estilo police. schriftart stil. fonte. шрифт стил
design: 设计 デザイン 디자인 설계 diseñ concevoir conçois entwerf entwurf desenh дизайн
logo brand: 品牌 商标 标志 ロゴ ブランド 로고 브랜드 marca. marque. marke. бренд логотип
qr code barcode: 二维码 条形码 QRコード バーコード QR코드 바코드 strichcode
screenshot screen: 截图 屏幕 截屏 スクリーンショット 画面 스크린샷 화면 captura. pantalla capture. écran bildschirm tela. скриншот экран
crop resize rotate: 裁剪 缩放 旋转 切り抜 回転 자르 회전 recort redimension rogner recadr zuschneid drehen. обреж поверн
identity card: 身份证 证件 身份 身分証 신분증 identidad documento. identité ausweis удостоверен личност
card credit: 信用卡 银行卡 卡 カード 카드 tarjeta carte. karte. cartão карт
license plate: 车牌 驾照 牌照 免許 ナンバー 면허 번호판 licencia matrícula permis. führerschein kennzeichen carteira номер. прав.
accident emergency: 事故 紧急 急救 緊急 사고 긴급 응급 accidente emergencia urgence. unfall notfall acidente emergência авари экстренн
police fire: 警察 报警 火灾 消防 경찰 화재 policía bomber police. incendie polizei feuer polícia incêndio полиц пожар
animal pet dog cat: 动物 宠物 狗 猫 動物 ペット 犬 동물 반려 강아지 animal. mascota chien. tier. haustier hund. cachorro животн собак кошк
plant flower garden: 植物 花 种植 花園 식물 꽃 정원 planta. flor. plante. fleur. jardin pflanze blume. garten растен цвет сад.
farm agriculture crop: 农业 农作物 农场 农田 農業 作物 농업 농작물 agricultura cultivo agricole ferme. landwirtschaft ernte agrícola урожа сельск
irrigation water: 灌溉 浇水 水 水やり 水質 물을 관개 agua. riego eau. arros wasser. bewässer água. воды. вода. полив
soil fertilizer: 土壤 施肥 肥料 토양 비료 suelo. fertiliz sol. engrais boden. dünge solo. почв удобрен
production manufacturing factory: 生产 制造 工厂 生产线 製造 生産 工場 생산 제조 공장 producción fabric. fábrica usine. produktion fertigung fabrik. produção fabricaç производ завод фабрик
quality inspection: 质量 质检 品质 検査 品質 품질 검사 calidad inspección. qualité. contrôle qualität inspektion qualidade inspeção. качеств осмотр
maintenance: 维护 保养 维修 保守 メンテナンス 유지보수 정비 mantenim entretien. wartung manuten обслуживан
material resource: 材料 物资 资源 素材 資源 자원 재료 recurso matéria ressource. rohstoff material. ресурс материал
process workflow automation: 流程 过程 自动化 工序 手順 プロセス 自動化 절차 과정 자동화 proceso flujo. processus. ablauf prozess processo процесс автоматиз
optimize improve: 优化 改进 提高 改善 最適化 최적화 개선 optimizar optimiza. otimiz mejor amélior optimier verbess melhor оптимиз улучш
evaluate assess evaluation: 评估 评定 评测 評価 평가 evalú evalua évalu bewert beurteil avali оцен
risk: 风险 リスク 危険 위험 riesgo risque. risiko риск
environment: 环境 環境 환경 medioambiente environnement umwelt. umgebung ambiente. окружающ сред
parameter value option: 参数 数值 选项 参数值 パラメータ 値 매개변수 값 parámetro valor. paramètre valeur. wert. werte parâmetro параметр значен
condition requirement: 条件 要求 需求 要件 조건 요구 requisito condición exigence. anforderung bedingung requisito. услов требован
version: 版本 バージョン 버전 versão. верси
software application app: 软件 应用 应用程序 アプリ ソフト 앱을 소프트웨어 어플 aplicación logiciel anwendung. aplicativo приложен
service support help: 服务 客服 支持 サービス サポート 서비스 지원 고객센터 servicio. soporte assistance. dienst. kundendienst suporte сервис поддержк услуг
complaint ticket: 投诉 工单 苦情 クレーム 불만 민원 queja. reclam plainte. réclam beschwerd reclama жалоб
member points membership: 会员 积分 ポイント 会員 포인트 멤버십 puntos. points. punkte. mitgliedschaft pontos баллы
gallery album playlist: 相册 专辑 歌单 アルバム プレイリスト 앨범 재생목록 álbum lista. wiedergabeliste альбом плейлист
artist singer actor: 歌手 演员 艺术家 俳優 가수 배우 cantante actor. chanteur sänger schauspieler cantor. ator. певец актер
channel live stream: 频道 直播 チャンネル 配信 채널 방송 canal. en-vivo. chaîne kanal. sendung. канал трансляц
television program: 电视 节目 テレビ 番組 텔레비전 televis télé. fernseh телевиз
wifi bluetooth: 无线 蓝牙 无线网 ブルートゥース 와이파이 블루투스 inalámbri sans-fil. drahtlos беспровод
scan: 扫描 スキャン 스캔 escan scannen digitaliz сканир
sign signature: 签名 签字 签署 署名 サイン 서명 firma. firmar signature. signer. unterschr unterschreib assin подпис
collect favorite bookmark: 收藏 收集 お気に入り 収集 즐겨찾기 수집 favorit recopil favori. marque-page sammeln. избран собра
assign allocate: 分配 指派 割り当て 배정 할당 asign attribuer assign. zuweis zuteil atribu назнач
invite invitation: 邀请 招待 초대 invita. invita inviter. einlad convid приглас
attend join participate: 参加 加入 参会 参加して 참가 참석 asist. participer participar participa. rejoin teilnehm beitret участв присоедин
wait delay postpone: 等待 延期 推迟 延迟 待って 연기 지연 aplaz retras report. retard. verschieb verspät adiar. atras отлож задерж
replace substitute: 替换 更换 代替 置換 交換 교체 대체 reempl reemplaz remplac ersetz substituir substitua. substituer замен
select choose: 选择 挑选 选 選択 選んで 선택 골라 seleccion elegir elige. choisi auswähl wähl escolh selecion выбра выбер
limit restrict: 限制 制限 제한 limita. begrenz огранич
adjust: 调节 调整 调 調整 조절 조정 ajust anpass регул
match pair: 匹配 配对 マッチ 매칭 emparej associer zuordn соответств
simulate simulation: 模拟 仿真 シミュレーション 시뮬레이션 simular simulier simuler симул моделир
space astronomy planet: 太空 天文 宇宙 行星 우주 행성 espacio astronom espace. weltraum космос астроном планет
earthquake disaster: 地震 灾害 災害 지진 재해 terremoto desastre séisme catastrophe. erdbeben katastroph землетряс бедств
sunrise sunset: 日出 日落 日の出 日没 일출 일몰 amanecer. lever. coucher. sonnenaufgang sonnenuntergang nascer восход закат
`
