#include "actors/net/links/proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "common/check.h"

namespace swarm::actors::links {

std::string make_nonce() {
  unsigned char bytes[kNonceBytes];
  SWARM_CHECK(RAND_bytes(bytes, sizeof bytes) == 1);
  return {reinterpret_cast<const char*>(bytes), sizeof bytes};
}

std::string prove(const std::string& key, const Challenge& challenge, Side side) {
  // Every part has a fixed length (nonces are checked before), so no two challenges read alike.
  std::string text = "swarm link 1";
  text += static_cast<char>(side);
  text += challenge.dialler.raw() + challenge.dialled.raw();
  text += challenge.dialler_nonce + challenge.dialled_nonce;
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const auto* made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), out, &size);
  SWARM_CHECK(made != nullptr && size == kProofBytes);
  return {reinterpret_cast<const char*>(out), size};
}

bool equal_proofs(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace swarm::actors::links
