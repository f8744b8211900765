"""Training with few steps, and small experiments; `--slow` adds whole ones."""

from __future__ import annotations

from golden_box import shell

PAIRS = "cajole generate expressions --n 60 --operands 2..=4 > p; cajole generate expressions --n 12 --operands 2..=4 --split dev > d"
TRAIN = "cajole train pairs --train p --dev d --threads 1 --out net"
ENCODER = """networks=[{name="tiny",corpus="generated",layers=1,hidden=16,share=5,encoder={layer-factor=0.9,top-factor=2.0,\
nudges=[],training={epochs=1,batch-size=16,shard-size=8,rule={kind="adam",beta1=0.9,beta2=0.999,epsilon=1e-8},\
step-size=1e-3,decay={kind="warm-up",share=0.1},clip=1.0}}}]"""
SENTENCES = '{kind="generated",train=600,dev=100,test=100}'


def train() -> None:
    few = "--set training.epochs=2"
    quick = f"{few} --threads 1 --out net"
    shell("train/transduction/text", f"cajole train transduction {quick}")
    shell("train/transduction/json", f"cajole train transduction {quick} --json --seed 3")
    shell("train/transduction/threads", "cajole train transduction --set training.epochs=2 --threads 3 --out net", twin="train/transduction/text")
    shell("train/transduction/again", f"cajole train transduction {quick}; cajole train transduction {quick}")
    shell("train/transduction/overwrite", f"cajole train transduction {quick}; cajole train transduction {quick} --overwrite --seed 2")
    shell("train/transduction/default-folder", f"cajole train transduction {few}")
    shell("train/transduction/settings", f"cajole train transduction {quick} --set network.hidden=8 --set network.start-state=zero")
    shell("train/pairs/lstm", f"{PAIRS}; {TRAIN} {few}")
    shell("train/pairs/half", f"{PAIRS}; {TRAIN} {few} --half --json")
    shell("train/pairs/threads", f"{PAIRS}; {TRAIN.replace('--threads 1', '--threads 3')} {few}", twin="train/pairs/lstm")
    shell("train/pairs/characters", f"{PAIRS}; {TRAIN} {few} --set symbols=characters --set network.architecture=simple")
    small = "--set transformer.training.epochs=2 --set transformer.layers=1 --set transformer.hidden=16 --set transformer.inner=16"
    shell("train/pairs/transformer", f"{PAIRS}; {TRAIN} --network transformer {small}")
    shell("train/pairs/no-effect", f"{PAIRS}; {TRAIN} --network transformer {few}")
    shell("train/pairs/bad", f"{PAIRS}; echo '{{\"input\": 3}}' >> p; {TRAIN} {few}")
    used = "cajole infer in/expressions.txt --model net --constraint rules/expressions.toml --no-times --threads 1 --max-steps 5"
    shell("train/pairs/used", f"{PAIRS}; {TRAIN} {few} > log; {used} --explain", seconds=4)
    shell("train/pairs/transformer-used", f"{PAIRS}; {TRAIN} --network transformer {small} > log; {used} --explain", seconds=4)
    one = "--set training.epochs=1"
    sized = f"--set 'treebanks.generated.source={SENTENCES}' {one} --threads 1 --out net"
    for net in ("gnmt", "simple"):
        shell(f"train/parsing/{net}", f"cajole train parsing --quick --network {net} {sized}", seconds=4)
    shell("train/parsing/transformer", f"cajole train parsing --quick --network transformer {sized} --half", seconds=4)
    shell("train/parsing/used", f"cajole train parsing --quick {sized} > log; cajole parse in/tagger.txt --model net --max-steps 5", seconds=5)
    sized = f"--set 'corpora.generated.source={SENTENCES}' --threads 1 --out net"
    for net in ("srl-100", "srl-10-loss"):
        shell(f"train/srl/{net}", f"cajole train srl --quick --network {net} {sized} {one}", seconds=4)
    shell("train/srl/half", f"cajole train srl --quick {sized} {one} --half --json", seconds=4)
    shell("train/srl/used", f"cajole train srl --quick {sized} {one} > log; cajole tag in/tagger.txt --model net", seconds=5)
    line = f"cajole train srl --quick {sized} --set '{ENCODER}' --encoder folders/encoder"
    shell("train/srl/encoder", line, ("folders/encoder",), seconds=6)
    shell("train/srl/encoder-used", f"{line} > log; cajole tag in/tagger.txt --model net --json", ("folders/encoder",), seconds=6)


def reproduce() -> None:
    small = "--seed 1 --set studies=[] --threads 1 --out report"
    line = f"""cajole reproduce transduction {small} --set 'start-states=["encoder"]' --set test-inputs=200"""
    tuning = "--set tuning.inputs=100 --set tuning.failures=10 --set training.epochs=40"
    shell("reproduce/transduction", f"{line} {tuning}", seconds=10)
    shell("reproduce/transduction-json", f"{line} {tuning} --json", seconds=10)
    shell("reproduce/transduction-again", f"{line} {tuning} > log; {line} {tuning}; {line} {tuning} --overwrite", seconds=12)
    few = '{kind="generated",train=400,dev=30,test=16}'
    sized = f"--set 'treebanks.generated.source={few}' --set 'widths=[1]'"
    shell("reproduce/parsing", f"cajole reproduce parsing --quick --networks simple {small} {sized}", seconds=20)
    sized = f"--set training.epochs=2 --set 'corpora.generated.source={SENTENCES}' --set 'limits=[1,3]'"
    shell("reproduce/srl", f"cajole reproduce srl --quick --networks srl-10 {small} {sized}", seconds=20)


def slow() -> None:
    for task in ("parsing", "srl"):
        shell(f"slow/reproduce/{task}", f"cajole reproduce {task} --quick --out report", ("slow",), seconds=400)
        threads = f"cajole reproduce {task} --quick --out report --seed 2 --threads 3 --set studies=[]"
        shell(f"slow/reproduce/{task}-threads", threads, ("slow",), seconds=300)
    line = "cajole reproduce transduction --set seeds=[1] --set test-inputs=400 --out report"
    shell("slow/reproduce/transduction", line, ("slow",), seconds=300)
    for net in ("gnmt", "transformer"):
        shell(f"slow/train/parsing/{net}", f"cajole train parsing --quick --network {net} --out net", ("slow",), seconds=100)
    shell("slow/train/srl", "cajole train srl --quick --network srl-100 --out net", ("slow",), seconds=60)
    shell("slow/eval/test", "cajole eval --split test --json", ("slow",), seconds=30)
    shell("slow/eval/best", "cajole eval --split test --preset best", ("slow",), seconds=60)


train()
reproduce()
slow()
