import type { Strings } from './en.ts';

export const zh: Strings = {
  tagline: '短处训练，长处见真章',
  headline: (trained, longest) => `只学过 ${trained}，却要考 ${longest}。`,
  lead: '几个很小的 Transformer，就在你的浏览器里训练。它们只有一处不同：怎样得知每个词元的位置。',
  theme: '浅色或深色',
  copyLink: '复制链接', linkCopied: '已复制',
  language: '语言',

  encodings: '位置编码', sixOfThem: '六种', all: '全部', none: '清空',
  about: (title) => `了解${title}`,
  addSpec: '自己组合', addSpecHint: 'rope:base=500000+log_n', add: '添加', remove: '移除',
  chooseOne: '请至少选择一种编码。',
  task: '任务', tasks: { text: '文本', copy: '复制', recall: '回忆' },
  taskNotes: {
    text: '预测下一个字节；文本是训练时没见过的总统国情咨文。',
    copy: '在分隔符之后，把一串随机符号原样重复一遍。',
    recall: '给出某个键，答出它在前文中对应的值。',
  },
  ownText: '用自己的文本…', ownTextUse: '使用这段文本', ownTextNone: '改用自带文本',
  ownTextNote: '前 90% 用于训练，其余用于测试。文本不会离开这台电脑，也不会写进链接。',
  ownTextFile: '文本文件', ownTextArea: '文本', ownTextShort: (bytes) => `至少需要 ${bytes.toLocaleString('zh')} 字节。`,
  ownTextUsed: (bytes) => `自己的文本，${bytes.toLocaleString('zh')} 字节`,
  trainedLength: '训练长度', reach: '测试到', size: '模型',
  sizes: { tiny: '微型', small: '小型', medium: '中型' },
  steps: '训练步数', seeds: '随机种子数',
  parameters: (least, most) => (least === most ? '' : `${least.toLocaleString('zh')} 至 `) + `${most.toLocaleString('zh')} 个参数`,

  train: '开始训练并拉长', again: '再训练一次', retrain: '按新设置重新开始',
  pause: '暂停', resume: '继续', cancel: '取消',
  startsIn: (seconds) => `${seconds} 秒后自动开始`, wait: '先不要',
  state: {
    idle: '准备就绪。', loading: '正在加载引擎…', running: '正在训练。', paused: '已暂停。',
    cancelled: '已取消，测得的结果保留。', done: '完成。', failed: '出错，已停止。',
  },
  runState: { waiting: '等待', training: '训练中', done: '完成', failed: '失败' }, testing: '测试中', refused: '拒绝', refusedPast: (n) => `超过 ${n} 即拒绝`,
  finishedStatus: (runs) => `共训练并测试了 ${runs} 个模型。`,

  perplexity: '困惑度', accuracy: '准确率',
  perplexityAxis: '每字节困惑度，越低越好', accuracyAxis: '准确率，越高越好',
  testLength: '测试长度', longer: '超出训练长度', trained: (n) => `训练长度 ${n}`,
  stretchTitle: '拉长', stretchEmpty: '只要有模型测完，第一条曲线就会出现在这里。',
  lossTitle: '训练中的损失', step: '步', loss: '损失', lossAxis: '损失（每词元，奈特）',
  positionTitle: (n) => `各位置的损失（序列长 ${n}）`, position: '位置',
  positionTitleEmpty: '各位置的损失',
  untested: '尚未测量', soFar: (percent) => `训练进行到 ${percent}% 时`,
  runsTitle: '训练进度', seed: '种子', perSecond: (n) => `${n} 步/秒`, left: (time) => `剩余 ${time}`,
  seconds: (n) => (n < 90 ? `${Math.ceil(n)} 秒` : `${Math.round(n / 60)} 分钟`),
  resultsTitle: '数据', resultsEmpty: '有模型测完后，数据会出现在这里。',
  atStep: '测试时的步数', mean: '均值', spread: '各种子的最低与最高值',
  downloadCsv: 'CSV', downloadJson: 'JSON', downloadSvg: 'SVG', download: '下载', downloadChart: (title) => `下载 SVG 图：${title}`,
  protocol: (p) =>
    `每个模型：${p.layers} 层，宽 ${p.width}，${p.heads} 个头${p.parameters && `，${p.parameters}`}；` +
    `训练 ${p.tokens} 个词元（${p.steps} 步，每步 ${p.batch} 条长 ${p.length} 的序列）；` +
    (p.seeds > 1 ? `${p.seeds} 个随机种子，色带表示最低到最高。` : '只有一个随机种子，因此不知道离散程度。'),
  protocolTest: {
    text: '测试：把没见过的文档切成各种长度的完整序列，每个位置都计入，不用滑动窗口。',
    copy: '测试：各种长度的全新随机串，只对重复的一半计分。',
    recall: '测试：各种长度的全新随机序列，只对答案计分。',
  },
  tinyNote: '模型很小，只训练几分钟：排名比数值更可信。',

  door: { ids: '编号', input: '输入', rotation: '旋转', bias: '偏置', content: '内容', pattern: '可见范围', scale: '缩放', value: '值' },
  doorNote: {
    ids: '词元携带的编号', input: '加到词嵌入上的向量', rotation: '对 q 和 k 的旋转', bias: '加到注意力分数上的数',
    content: '与内容有关的分数项', pattern: '谁能看见谁', scale: '乘在一行分数上的系数', value: '加到读出结果上的项',
  },
  opens: '打开的门', noDoor: '一扇门也不开', pastL: '超出训练长度之后', paper: '论文', learned: '含有可学习的参数。',
  past: { same: '设计上保持不变', degrades: '变差', refuses: '拒绝运行' },
  block: { title: 'Transformer 块与它的门', token: '词元', embedding: '词嵌入', scores: '分数', softmax: 'softmax', read: '读出', mlp: 'MLP', close: '关闭' },
};
