#!/usr/bin/env python3
"""Near duplicates side by side: near_bench, datasketch, rensa and text-dedup on the same texts, tokens and threshold.

peers.py --near-bench PROGRAM --texts FILE.jsonl [--limit N] [--output F.json]

Needs a Python with the three (pip install datasketch rensa text-dedup xxhash); a missing one is left out, and
the result says so. 126 functions in 21 bands of 6 everywhere. Seconds are the processor's (of all threads), since other
work may share the machine. The methods:
  near_bench   tokens, shingles and sketch in one pass over the text; exact Jaccard of every pair that shares a band
  datasketch   MinHash.update_batch over xxh32 of the shingles, MinHashLSH; its answer is not verified
  rensa        R-MinHash over every shingle (not the rho pipeline, which samples), RMinHashLSH; not verified either
  text-dedup   embed_func of its minhash module, which makes shingles itself and in small letters; buckets as its main() does
`shingles_s` is Python's regular expression and join, the same for all peers; `sketch_s` is the time of the peer itself.
`prehashed_s` is rensa on shingles that are hashed already. Verification is by Python's sets, the same for all peers.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from importlib.metadata import version
from itertools import combinations, islice
from pathlib import Path

os.environ.setdefault("RAYON_NUM_THREADS", "1")
BANDS, ROWS, WIDTH, THRESHOLD = 21, 6, 5, 0.8
TOKEN = re.compile(rb"[A-Za-z0-9_\x80-\xff]+|[^\sA-Za-z0-9_\x80-\xff]")


def shingles_of(text):
    """The shingles as byte strings, each once."""
    tokens = TOKEN.findall(text.encode())
    if len(tokens) < WIDTH:
        return {b" ".join(tokens)} if tokens else set()
    return {b" ".join(tokens[i:i + WIDTH]) for i in range(len(tokens) - WIDTH + 1)}


class Stopwatch(dict):
    """Seconds of the processor by name: the best of several rounds, as near_bench takes them."""

    def __call__(self, name, work, rounds=3):
        for _ in range(rounds):
            began = time.process_time()
            result = work()
            taken = round(time.process_time() - began, 4)
            self[name] = min(taken, self.get(name, taken))
        return result


def pairs_of_buckets(tables):
    """All pairs that share a bucket of one of the tables."""
    pairs = set()
    for table in tables:
        for members in table.values():
            pairs.update(combinations(sorted(members), 2))
    return pairs


def datasketch(_texts, shingles, watch):
    """Candidate pairs by datasketch."""
    import xxhash
    from datasketch import MinHash, MinHashLSH

    def sketch():
        made = []
        for piece in shingles:
            minhash = MinHash(num_perm=BANDS * ROWS, hashfunc=xxhash.xxh32_intdigest)
            minhash.update_batch(list(piece))
            made.append(minhash)
        return made

    sketches = watch("sketch_s", sketch)

    def search():
        index = MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
        pairs = set()
        for number, minhash in enumerate(sketches):
            pairs.update((other, number) for other in index.query(minhash))
            index.insert(number, minhash)
        return pairs

    return watch("search_s", search)


def rensa(_texts, shingles, watch):
    """Candidate pairs by rensa's full-signature path."""
    from rensa import RMinHash, RMinHashLSH
    lists = [list(piece) for piece in shingles]
    count = BANDS * ROWS
    sketches = watch("sketch_s", lambda: RMinHash.from_token_sets(lists, num_perm=count, seed=1))
    hashes = RMinHash.hash_token_sets(lists)
    watch("prehashed_s", lambda: RMinHash.digest_matrix_from_token_hash_sets(hashes, num_perm=count, seed=1))

    def search():
        index = RMinHashLSH(threshold=THRESHOLD, num_perm=count, num_bands=BANDS)
        pairs = set()
        for number, minhash in enumerate(sketches):
            pairs.update((other, number) for other in index.query(minhash))
            index.insert(number, minhash)
        return pairs

    return watch("search_s", search)


def text_dedup(texts, _shingles, watch):
    """Candidate pairs by the functions of text-dedup's minhash module, on near_bench's tokens."""
    import numpy as np
    from text_dedup import minhash as module

    class Splitter:
        """Replaces its regular expression."""

        @staticmethod
        def split(text):
            return [token.decode(errors="replace") for token in TOKEN.findall(text.encode())]

    module.NON_ALPHA = Splitter
    prime = np.uint64((1 << 61) - 1)
    count = BANDS * ROWS
    words = {
        "num_perm": count, "ngram_size": WIDTH, "min_length": 0,
        "hashranges": [(i * ROWS, (i + 1) * ROWS) for i in range(BANDS)],
        "permutations": (module.RNG.randint(1, prime, size=count, dtype=np.uint64),
                         module.RNG.randint(0, prime, size=count, dtype=np.uint64)),
        "hash_func": module.xxh3_32hash, "dtype": np.uint64, "max_hash": np.uint32((1 << 32) - 1), "modulo_prime": prime,
    }
    sketches = watch("shingles_and_sketch_s", lambda: [module.embed_func(t, i, **words) for i, t in enumerate(texts)])

    def search():
        tables = [defaultdict(set) for _ in range(BANDS)]
        for sketch in sketches:
            for table, band in zip(tables, sketch[module.SIGNATURE_COLUMN], strict=True):
                table[band].add(sketch[module.INDEX_COLUMN])
        return pairs_of_buckets(tables)

    return watch("search_s", search)


def jaccard(a, b):
    """The index of two sets; 1 for two empty ones."""
    common = len(a & b)
    whole = len(a) + len(b) - common
    return common / whole if whole else 1.0


def against(found, truth):
    """Precision and recall."""
    right = len(found & truth)
    return {"pairs": len(found), "precision": round(right / len(found), 4) if found else 1.0,
            "recall": round(right / len(truth), 4) if truth else 1.0}


def measure(peer, texts, shingles, truth):
    """One peer's seconds, and its precision and recall before and after verification."""
    watch = Stopwatch()
    candidates = {tuple(sorted(pair)) for pair in peer(texts, shingles, watch)}
    kept = watch("verify_s", lambda: {p for p in candidates if jaccard(shingles[p[0]], shingles[p[1]]) >= THRESHOLD})
    return {**watch, "unverified": against(candidates, truth), "verified": against(kept, truth)}


def ours(program, texts):
    """near_bench's result on the same texts, and the true pairs."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.jsonl"
        file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        pairs = Path(folder) / "pairs"
        done = subprocess.run([program, file, "--brute-force", "--pairs", pairs], check=True, capture_output=True, text=True)
        lines = (line.split() for line in pairs.read_text().splitlines())
        return json.loads(done.stdout), {(int(a), int(b)) for a, b, _ in lines}


def ratios(mine, peer, shingles_s):
    """The ratio of a peer's seconds to near_bench's."""
    own = peer.get("sketch_s")
    whole = peer.get("shingles_and_sketch_s") or shingles_s + own
    result = {"text_to_sketch": round(whole / mine["sketch_cpu_s"], 1)}
    if own:
        result["sketch_of_ready_shingles_against_our_text_to_sketch"] = round(own / mine["sketch_cpu_s"], 2)
    if "prehashed_s" in peer:
        hashing = mine["sketch_cpu_s"] - mine["shingles_cpu_s"]
        result["prehashed_shingles_against_our_minima"] = round(peer["prehashed_s"] / hashing, 2)
    searching = mine["join_all_pairs"]["cpu_s"]
    result["search_and_verify"] = round((peer["search_s"] + peer["verify_s"]) / searching, 1)
    result["all"] = round((whole + peer["search_s"] + peer["verify_s"]) / (mine["sketch_cpu_s"] + searching), 1)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--near-bench", required=True)
    parser.add_argument("--texts", required=True, type=Path)
    parser.add_argument("--limit", type=int, default=10000)
    parser.add_argument("--output", type=Path)
    words = parser.parse_args()
    with words.texts.open() as lines:
        texts = [json.loads(line)["text"] for line in islice(lines, words.limit)]
    mine, truth = ours(words.near_bench, texts)
    watch = Stopwatch()
    shingles = watch("shingles_s", lambda: [shingles_of(text) for text in texts])
    result = {"near_bench": mine, "python_shingles_s": watch["shingles_s"], "peers": {}}
    for name, peer in {"datasketch": datasketch, "rensa": rensa, "text-dedup": text_dedup}.items():
        try:
            figures = measure(peer, texts, shingles, truth)
        except ImportError as missing:
            result["peers"][name] = {"left_out": str(missing)}
            continue
        result["peers"][name] = {"version": version(name), **figures,
                                 "times_ours": ratios(mine, figures, watch["shingles_s"])}
        print(name, file=sys.stderr)
    text = json.dumps(result, indent=1)
    if words.output:
        words.output.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
